# values outside their range are wrong usage, and the bounds are named
make_log >log.csv
for flag in holdout=0 holdout=1 holdout=nan test-share= holdout=-1 cap=0 core=0 core=1.5 test-share=1.1 \
    max-users=-1 seed=4294967296 skip-bad=-1 min-rating=x threads=0 threads=1025 threads=two; do
    refused log.csv --$flag
done
