package rules

import (
	"slices"
	"strings"
	"unicode"
)

// looksPersonal reports whether a column looks like data about a person, by the
// words of its name. It misses some: the author of the file answers for
// what show lists.
func looksPersonal(column string) bool {
	words := wordsOf(column)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(personalWords(), w) }) {
		return true
	}
	whose := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(whoseName(), w) })
	return slices.Contains(words, "name") && (whose || len(words) == 1)
}

// personalWords are words that only data about persons have.
func personalWords() []string {
	return []string{
		"email", "mail", "emails", "phone", "telephone", "tel", "mobile", "cell", "fax", "msisdn",
		"address", "street", "postcode", "zip", "zipcode", "ssn", "personnummer", "pnr", "nin", "bsn", "cpr", "aadhaar", "aadhar", "passport",
		"iban", "bic", "pan", "card", "cvv", "birth", "birthday", "birthdate", "dob", "born", "gender", "sex", "religion", "ethnicity",
		"firstname", "lastname", "fullname", "surname", "username", "nickname", "forename", "fornamn", "efternamn", "namn", "epost", "telefon", "adress", //nolint:misspell // Swedish.
		"password", "passwd", "secret", "token", "ip", "latitude", "longitude", "diagnosis", "salary", "licence", "license",
	}
}

// whoseName are words that make a name that of a person.
func whoseName() []string {
	return []string{
		"first", "last", "full", "given", "family", "middle", "maiden", "user", "nick", "display", "customer", "contact", "person", "patient",
		"employee", "owner", "legal", "member", "student", "holder", "guest", "driver", "author", "recipient", "sender",
	}
}

// wordsOf splits a column into words: home_address, homeAddress, HOME-ADDRESS2.
func wordsOf(column string) []string {
	var spaced strings.Builder
	lower := false
	for _, c := range column {
		if unicode.IsUpper(c) && lower {
			spaced.WriteByte(' ')
		}
		if !unicode.IsLetter(c) {
			c = ' '
		}
		lower = unicode.IsLower(c)
		spaced.WriteRune(unicode.ToLower(c))
	}
	return strings.Fields(spaced.String())
}
