// What counts as a sign-in page is pinned by testdata/vectors/signin.json, together with semelhttp/signin.go, which has the
// same expressions.

/** What the path of a sign-in page looks like. */
const signInPaths = [
  /\/(wp-?|service)?(log|sign)[-_]?(in|on)(\.(php|aspx?|jspx?|jsf|html?|xhtml|do|action|cgi))?(;[^/]*)?(\/|$)/,
  /^\/(sso|saml2?)(\/|$)|\/(oauth2?|oidc|openid|openid-connect)\/(auth|authorize|authorization|start)(\/|$)|\/sessions?\/new\/?$/,
];
/** One on the request's own host only: elsewhere it may be a bank's, where a payment is confirmed. */
const ownSignInPath = /^\/auth\/?$/;
/** A question to an identity provider: SAML or WS-Federation. */
const signInQuery = /[?&](samlrequest=|wa=wsignin)/;
/** The host of an identity provider. */
const signInHost = /^(login|signin|sign-in|sso)\./;
/** Where people sign up, sign out or change a password: the sign-in page follows what they did there. */
const accountPaths = [
  /(^|\/(accounts?|auth|customers?|identity|members?|users?|[a-z][a-z0-9]))\/(register|registrations?|sign[-_]?(up|out|off)|log[-_]?(out|off))(\.[a-z]+)?\/?$/,
  /\/((re)?set|forgot(ten)?|change|lost|new|recover|update)?[-_]?passwords?[-_]?(reset|change|recovery|forgot(ten)?)?(\.[a-z]+)?(\/[^/]*)?\/?$/,
];

/** Whether one of them fits. */
const some = (all: readonly RegExp[], text: string): boolean => all.some((each) => each.test(text));

/** Whether a request to the address from that was redirected to location was sent to a sign-in page: nothing happened. */
export function leadsToSignIn(from: string, location: string): boolean {
  const own = new URL(from);
  const to = new URL(location, own);
  const [before, path] = [own.pathname, to.pathname].map((text) => text.toLowerCase()) as [string, string];
  if (some(accountPaths, before) || path === before.replace(/\/$/, "") + "/new") return false;
  return asksToSignIn(to) || (to.host !== own.host ? signInHost.test(to.host) : ownSignInPath.test(path));
}

/** Whether an address looks like a sign-in page, on any host. */
export function asksToSignIn({ pathname, search }: URL): boolean {
  const query = search.toLowerCase();
  const asksProvider = /[?&]client_id=/.test(query) && /[?&]response_type=/.test(query);
  return asksProvider || some(signInPaths, pathname.toLowerCase()) || signInQuery.test(query);
}

/** Whether a response to a request to sentTo is a sign-in page, to which it was redirected. */
export function wasSentToSignIn(response: Response, sentTo: string): boolean {
  return response.redirected && leadsToSignIn(sentTo, response.url);
}
