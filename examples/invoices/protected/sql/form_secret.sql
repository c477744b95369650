-- Reads the secret that form tokens are signed with.
SELECT secret FROM form_secret;
