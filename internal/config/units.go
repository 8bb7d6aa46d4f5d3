package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes. In the file it is a number or a text with a unit:
// "256MiB", "16 KiB", "8MB".
type Size int64

const (
	kib Size = 1 << 10
	mib Size = 1 << 20
)

var sizeUnits = [...]struct {
	name string
	of   Size
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// String is the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits[:3] {
		if s != 0 && s%u.of == 0 {
			return strconv.FormatInt(int64(s/u.of), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

var errSize = errors.New(`must be a size such as "256MiB", at most 1 PiB`)

func parseSize(text string) (Size, error) {
	text = strings.TrimSpace(text)
	unit := Size(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = strings.TrimSpace(rest), u.of
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > int64(1<<50/unit) {
		return 0, errSize
	}
	return Size(n) * unit, nil
}

// Duration is a time span. In the file it is a text: "14d", "90m", "1h30m".
type Duration time.Duration

const (
	minute = Duration(time.Minute)
	day    = Duration(24 * time.Hour)
)

// String is the duration as it is written in the file.
func (d Duration) String() string {
	switch {
	case d != 0 && d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	case d != 0 && d%(60*minute) == 0:
		return strconv.FormatInt(int64(d/(60*minute)), 10) + "h"
	case d%minute != 0 || d == 0:
		return time.Duration(d).String()
	}
	return strings.TrimSuffix(time.Duration(d).String(), "0s")
}

var errDuration = errors.New(`must be a time span such as "14d", "90m" or "1h30m", at most 10 years`)

func parseDuration(text string) (Duration, error) {
	text = strings.TrimSpace(text)
	var total Duration
	if n := strings.IndexByte(text, 'd'); n > 0 {
		days, err := strconv.ParseUint(text[:n], 10, 16)
		if err != nil {
			return 0, errDuration
		}
		total, text = Duration(days)*day, text[n+1:]
		if text == "" {
			text = "0s"
		}
	}
	rest, err := time.ParseDuration(text)
	if err != nil || rest < 0 || total > 3650*day || Duration(rest) > 3650*day {
		return 0, errDuration
	}
	return total + Duration(rest), nil
}

// Hours is a part of the day in minutes since midnight, local time; it may go
// over midnight. From and To that are equal mean the whole day.
type Hours struct{ From, To int }

// String is "22:00-07:00".
func (h Hours) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", h.From/60, h.From%60, h.To/60, h.To%60)
}

// Contains reports whether the hours hold the moment t, in t's own zone.
func (h Hours) Contains(t time.Time) bool {
	now := t.Hour()*60 + t.Minute()
	if h.From < h.To {
		return h.From <= now && now < h.To
	}
	return now >= h.From || now < h.To
}

var errHours = errors.New(`must be hours such as "22:00-07:00"`)

func parseHours(text string) (Hours, error) {
	from, to, ok := strings.Cut(text, "-")
	a, err1 := time.Parse("15:04", strings.TrimSpace(from))
	b, err2 := time.Parse("15:04", strings.TrimSpace(to))
	if !ok || err1 != nil || err2 != nil {
		return Hours{}, errHours
	}
	return Hours{a.Hour()*60 + a.Minute(), b.Hour()*60 + b.Minute()}, nil
}
