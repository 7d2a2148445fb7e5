# without a command there is a hint on standard error
crosswise
