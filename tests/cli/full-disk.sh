# output that cannot be written is a failure, not a success
crosswise help >/dev/full
