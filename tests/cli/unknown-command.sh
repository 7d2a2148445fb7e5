# a name that is no command is wrong usage
crosswise frobnicate
