# the list of commands
crosswise help
