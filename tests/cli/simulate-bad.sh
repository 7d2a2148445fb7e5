# simulations that are not possible
for flag in users=0 items=x dim=0 relevant=0 relevant=1 alpha=-1 uniform-test=10001 interactions=0; do
    crosswise simulate --$flag --out set || echo "exit code $?"
done
crosswise simulate --users 10 --items 10 --interactions 1000 --out set || echo "exit code $?"
find .
