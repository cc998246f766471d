package maintenance

import (
	"fmt"
	"strings"
	"time"
)

// parseUntil reads an end as users write it: a date with zone (RFC 3339), a time of
// the day in the zone of now, or a duration from now. It lies ahead, and is as exact
// as a second.
func parseUntil(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	until, err := momentOf(text, now)
	if err != nil {
		return time.Time{}, err
	}
	until = until.Truncate(time.Second)
	if !until.After(now) {
		return time.Time{}, fmt.Errorf("--until: %s has passed: name a time ahead", until.Format(time.RFC3339))
	}
	return until, nil
}

func momentOf(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if clock, err := time.Parse("15:04", text); err == nil {
		return nextAt(clock.Hour(), clock.Minute(), now), nil
	}
	if length, err := time.ParseDuration(text); err == nil {
		return now.Add(length), nil
	}
	return time.Time{}, fmt.Errorf("--until: %q is neither a date with time and zone (%s), nor a time of the day (18:00), nor a duration (2h, 90m)",
		text, now.Add(2*time.Hour).Truncate(time.Minute).Format(time.RFC3339))
}

// nextAt is when the clock shows a time next: today or tomorrow. Where clocks are
// turned, a day has no 24 hours.
func nextAt(hour, minute int, now time.Time) time.Time {
	today := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
	if today.After(now) {
		return today
	}
	return time.Date(now.Year(), now.Month(), now.Day()+1, hour, minute, 0, 0, now.Location())
}
