package serve

import (
	"encoding/json"
	"net/http"
)

// refusal is the answer to a request that is not passed on. Its JSON is that of the API's errors.
type refusal struct {
	Status int    `json:"-"`
	Code   string `json:"error"` // a word that stays the same
	What   string `json:"what"`  // is wrong
	Where  string `json:"where"` // a header, or a part of the request
	Do     string `json:"do"`    // what to do
}

const getCode = "press Enter in the terminal where heaptap runs, and open the address that it prints"

var (
	refuseHost = &refusal{http.StatusForbidden, "foreign-host",
		"the server is not known by this name", "Host",
		"use the address that heaptap printed, or allow the name: heaptap open --allow-host NAME"}
	refuseOrigin = &refusal{http.StatusForbidden, "foreign-origin",
		"a page of another origin may not ask this server", "Origin",
		"open the address that heaptap printed"}
	refuseSite = &refusal{http.StatusForbidden, "foreign-site",
		"a page of another site may neither ask this server nor lead to it", "Sec-Fetch-Site",
		"paste the address that heaptap printed"}
	refusePath = &refusal{http.StatusNotFound, "unknown-path",
		"there is nothing at this path", "path",
		"GET / is the app"}
	refuseBody = &refusal{http.StatusBadRequest, "unexpected-body",
		"only POST requests have a body", "body",
		"leave it out"}
	refuseToken = &refusal{http.StatusUnauthorized, "no-token",
		"the request has no valid token", "Authorization",
		getCode + "; programs send Authorization: Bearer TOKEN, with the token that POST /auth gives for the code"}
	refuseType = &refusal{http.StatusUnsupportedMediaType, "bad-type",
		"the body must be JSON", "Content-Type",
		"send Content-Type: application/json"}
	refuseForm = &refusal{http.StatusBadRequest, "bad-body",
		"the body is not a code in JSON", "body",
		`send {"code": "..."}, with the code of the address`}
	refuseWrong = &refusal{http.StatusUnauthorized, "wrong-code",
		"this code is not one of this server", "code",
		getCode}
	refuseLate = &refusal{http.StatusUnauthorized, "late-code",
		"this code is too old", "code",
		getCode}
	refuseTwice = &refusal{http.StatusUnauthorized, "used-code",
		"this code was used before; its session was ended, because somebody else may have read the address", "code",
		getCode}
	refuseOften = &refusal{http.StatusTooManyRequests, "many-codes",
		"there were too many wrong codes", "code",
		"try again in a minute"}
)

func (e *refusal) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(e)
}
