package transcript

import "testing"

func TestCommandsThatRunTestsAreKnownByTheirWords(t *testing.T) {
	for command, want := range map[string]bool{
		"go test ./...":                       true,
		"cd /x && FOO=1 timeout 60 pytest -q": true,
		"npm run test:unit":                   true,
		"make check":                          true,
		"./test.sh":                           true,
		"sh test.sh":                          true,
		"bash -eu ./scripts/run_tests.sh":     true,
		"bash -c 'cargo test'":                true,
		"sh ./build.sh":                       false,
		"bash":                                false,
		"cat test.sh":                         false,
		"./latest.sh":                         false,
		"go build ./...":                      false,
	} {
		if got := runsTests(command); got != want {
			t.Errorf("%q: %v, want %v", command, got, want)
		}
	}
}
