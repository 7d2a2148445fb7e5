# files that earlier versions, and this one, have written are read with the figures of that time
fixtures=$(dirname "$0")/../fixtures
for folder in "$fixtures"/v*; do
    "$fixtures/read.sh" "$folder" >got
    diff -u "$folder/expected" got || echo "${folder##*/} is read differently"
done
