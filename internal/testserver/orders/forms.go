package main

// forms returns the forms by their names. People press buttons of class a first, those of class b second.
func forms() map[string]string {
	return map[string]string{
		"":            `<form method="post" action="{action}">{token}{fields}<button class="a">Send</button></form>`,
		"multipart":   `<form method="post" enctype="multipart/form-data" action="{action}">{token}{fields}<button class="a">Send</button></form>`,
		"label":       `<form method="post" action="{action}">{token}{fields}<button id="go">Send</button><label class="a" for="go">Send</label></form>`,
		"image":       `<form method="post" action="{action}">{token}{fields}{unnamed}<input type="image" class="a" alt="Send" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></form>`,
		"named image": `<form method="post" action="{action}">{token}{fields}{named}<input type="image" name="go" class="a" alt="Send" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></form>`,
		"outside":     `<form method="post" action="{action}" id="f">{token}{fields}</form><button class="a" form="f">Send</button>`,
		"formaction":  `<form method="post" action="/drafts">{token}{fields}<button class="a" formaction="{action}">Send</button></form>`,
		"two":         `<form method="post" action="{action}">{token}{fields}<button class="a">Send</button><button class="b">Send</button></form>`,
		"named":       `<form method="post" action="{action}">{token}{fields}<button class="a" name="then" value="list">Send</button><button class="b" name="then" value="next">Send</button></form>`,
		"blank":       `<form method="post" target="_blank" action="{action}">{token}{fields}<button class="a">Send</button></form>`,
		"frame":       `<form method="post" target="answer" action="{action}">{token}{fields}<button class="a">Send</button></form><iframe name="answer"></iframe>`,
		"captcha": `<form method="post" action="{action}">{token}{fields}<input type="hidden" name="g-recaptcha-response" value="{random}">
<input type="hidden" name="h-captcha-response" value="{random}"><input type="hidden" name="cf-turnstile-response" value="{random}"><button class="a">Send</button></form>`,
		"csrf":     `<form method="post" action="{action}">{token}{fields}<input type="hidden" name="csrf_token" value="{random}"><button class="a">Send</button></form>`,
		"stamped":  `<form method="post" action="{action}">{token}{fields}<input type="hidden" name="opened" value="{random}"><button class="a">Send</button></form>`,
		"submits":  `<form method="post" action="{action}">{token}{fields}<button type="button" class="a" onclick="this.form.submit()">Send</button></form>`,
		"requests": `<form method="post" action="{action}">{token}{fields}<button type="button" class="a" onclick="for (let n = 0; n < 20; n++) this.form.requestSubmit()">Send</button></form>`,
		"checks":   `<form method="post" action="{action}" onsubmit="event.preventDefault(); fetch('/check').then(() => this.submit())">{token}{fields}<button class="a">Send</button></form>`,
	}
}
