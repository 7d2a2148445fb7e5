# names that are markup, formulas or escape sequences stay text in all that an experiment writes
hostile=$'=a<b>&"|\e[2J'
crosswise simulate --users 100 --items 50 --relevant 0.5 --popularity 0.5 --quiet --out "$hostile"
cat >plan.json <<'END'
{"title": "</script><script>x()</script>\u001b[2J",
 "options": {"preset": "paper", "dim": 4, "epochs": 2, "eval-every": 1},
 "tables": [{"title": "=1+1|<i>", "about": "@SUM <img src=x>", "methods": ["pop", "bpr"]}]}
END
crosswise experiment plan.json "$hostile" --out lab --quiet
crosswise report lab --quiet
grep '^#' lab/tables.md lab/times.md
cut -d , -f 1-2 lab/results.csv | cat -v
head -n 1 lab/report/01-*.csv | cat -v
grep -h '^#' lab/report/tables.md | head -n 2
grep -F 'caption{=' lab/report/tables.tex
grep -cE '<script>x|<img|<i>|<b>' lab/report/report.html lab/report/*.svg | grep -v ':0$' || true
grep -c "$(printf '\33')" lab/*.md lab/report/{report.html,tables.md,tables.tex} lab/report/*.svg | grep -v ':0$' || true
