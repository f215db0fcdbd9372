# Passes the output of go test on and ends it with one line that counts the
# packages. It fails when a package did, or when there was none.
{ print; fflush() }
/^ok[ \t]/                      { passed++ }
/^FAIL[ \t]/                    { failed++; which = which " " $2 }
/^\?[ \t]/ || /\[no test files\]/ { untested++ }
END {
	printf "tests: %d packages passed, %d failed%s, %d without tests\n", passed, failed, which, untested
	if (failed || !passed) exit 1
}
