package formguard

import "strings"

// Changes reports whether a field changes with every rendering of a form, whatever a person
// wants to send: the tokens against forgery of well-known frameworks, and
// the answers of captchas. The names are those of testdata/vectors/formfields.json, which
// the scripts in web share.
func Changes(name string) bool {
	switch name {
	case
		"csrfmiddlewaretoken",        // Django
		"authenticity_token",         // Rails
		"_token",                     // Laravel, Symfony
		"_csrf",                      // Spring Security, Express
		"_csrf_header",               // where a page has copied Spring's meta elements
		"_csrf_token",                // Phoenix, Symfony's login
		"_csrfToken",                 // CakePHP
		"csrf_token",                 // Flask-WTF, nosurf
		"csrf_test_name",             // CodeIgniter
		"csrfToken",                  // Play
		"CSRFToken",                  // OWASP's examples
		"csrf",                       // where people name it themselves
		"__RequestVerificationToken", // ASP.NET
		"gorilla.csrf.Token",         // gorilla/csrf
		"_wpnonce", "_ajax_nonce",    // WordPress
		"wpEditToken", "wpLoginToken", // MediaWiki
		"form_build_id",                                     // Drupal
		"form_token",                                        // Drupal, phpBB
		"sectok",                                            // DokuWiki
		"sesskey",                                           // Moodle
		"form_key",                                          // Magento
		"_csrf-frontend", "_csrf-backend", "YII_CSRF_TOKEN", // Yii
		"_xsrf",                                        // Tornado
		"SYNCHRONIZER_TOKEN",                           // Grails
		"struts.token",                                 // Struts
		"_authenticator",                               // Plone
		"SecurityID",                                   // SilverStripe
		"__anti-forgery-token",                         // Ring
		"h-captcha-response",                           // hCaptcha
		"cf-turnstile-response",                        // Turnstile
		"frc-captcha-solution", "frc-captcha-response", // Friendly Captcha
		"altcha",                                                   // ALTCHA
		"smart-token",                                              // Yandex SmartCaptcha
		"procaptcha-response",                                      // Prosopo
		"mtcaptcha-verifiedtoken",                                  // MTCaptcha
		"fc-token",                                                 // Arkose
		"cap-token",                                                // Cap
		"mcaptcha__token",                                          // mCaptcha
		"geetest_challenge", "geetest_validate", "geetest_seccode", // Geetest
		"_wpcf7_recaptcha_response": // Contact Form 7
		return true
	}
	return strings.HasSuffix(name, "[_token]") || strings.HasSuffix(name, "[_csrf_token]") || // Symfony, Phoenix
		strings.HasPrefix(name, "_Token[") || strings.HasPrefix(name, "data[_Token]") || // CakePHP
		strings.HasPrefix(name, "g-recaptcha-response") // several in a page have a number, or an action
}
