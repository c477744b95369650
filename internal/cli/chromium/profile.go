package chromium

import (
	"context"
	"fmt"
	"net/http"
)

// Profile is a browser's memory: cookies and storage.
type Profile struct {
	browser *Browser
	id      string
}

// Profile makes an empty profile.
func (b *Browser) Profile(ctx context.Context) (*Profile, error) {
	var made struct{ BrowserContextID string }
	if err := b.call(ctx, "", "Target.createBrowserContext", nil, &made); err != nil {
		return nil, err
	}
	return &Profile{b, made.BrowserContextID}, nil
}

// SetCookies puts the cookies of a Cookie header into the profile, for the host of the address.
func (p *Profile) SetCookies(ctx context.Context, address, line string) error {
	cookies, err := http.ParseCookie(line)
	if err != nil {
		return fmt.Errorf("the cookies: %w", err)
	}
	var all []map[string]string
	for _, c := range cookies {
		all = append(all, map[string]string{"name": c.Name, "value": c.Value, "url": address})
	}
	return p.browser.call(ctx, "", "Storage.setCookies", map[string]any{"cookies": all, "browserContextId": p.id}, nil)
}

// Close closes the profile's tabs and forgets it.
func (p *Profile) Close(ctx context.Context) error {
	return p.browser.call(ctx, "", "Target.disposeBrowserContext", map[string]any{"browserContextId": p.id}, nil)
}
