//go:build unix

package transcript

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
)

// sizes are those of the benchmarks; the large ones only where asked for.
func sizes() []int64 {
	if os.Getenv("RESEAT_BENCH_BIG") != "" {
		return []int64{1 << 20, 50 << 20, 500 << 20}
	}
	return []int64{1 << 20, 20 << 20}
}

func eachSize(b *testing.B, fn func(b *testing.B, c client.Client, path string)) {
	for _, c := range client.All() {
		for _, n := range sizes() {
			path := generate(b, c, n)
			b.Run(fmt.Sprintf("%s/%dMB", c, n>>20), func(b *testing.B) {
				info, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(info.Size())
				b.ReportAllocs()
				b.ResetTimer()
				before := cpu()
				fn(b, c, path)
				b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e6, "cpu-ms/op")
			})
		}
	}
}

// cpu is the time that this process computed: what counts on a machine that
// others use too.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead is what a PreCompact hook pays: it must not follow the size.
func BenchmarkRead(b *testing.B) {
	eachSize(b, func(b *testing.B, c client.Client, path string) {
		for range b.N {
			if _, err := Read(context.Background(), c, path, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWalk is a full transcript's price, to compare with BenchmarkCountLines.
func BenchmarkWalk(b *testing.B) {
	eachSize(b, func(b *testing.B, c client.Client, path string) {
		for range b.N {
			if _, err := Walk(context.Background(), c, path, Options{}, func(Message) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCountLines is the floor: reading the file and counting its newlines.
func BenchmarkCountLines(b *testing.B) {
	eachSize(b, func(b *testing.B, _ client.Client, path string) {
		buf := make([]byte, block)
		for range b.N {
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			lines := 0
			for {
				n, err := f.Read(buf)
				lines += bytes.Count(buf[:n], []byte{'\n'})
				if err == io.EOF {
					break
				}
			}
			f.Close()
		}
	})
}

// BenchmarkAfter is what a prompt pays while something is pending: the last turn.
func BenchmarkAfter(b *testing.B) {
	eachSize(b, func(b *testing.B, c client.Client, path string) {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		for range b.N {
			if _, err := After(context.Background(), c, path, info.Size()-(64<<10), []string{"c-0001"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkIdentify(b *testing.B) {
	eachSize(b, func(b *testing.B, c client.Client, path string) {
		for range b.N {
			if _, err := Identify(c, path); err != nil {
				b.Fatal(err)
			}
		}
	})
}
