# the version, without what depends on the machine
crosswise --version | sed 's/ (.*)/ (instruction set)/'
