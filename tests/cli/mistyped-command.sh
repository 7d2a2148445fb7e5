# a name close to a command gets a hint
crosswise prepar
