// Package serve is the web server of heaptap open: it decides who may ask, and passes on what they ask.
//
// A Server listens on the loopback interface. It has three kinds of answers: the files of the app, which hold no data
// and which anybody may read; /auth, which gives a token for a code; and everything below /api/, for which each request
// must carry a token. A code is part of an address that the user opens, behind the #, so that browsers send it to
// nobody; it is good for one redemption within CodeLife. A token is good as long as the server lives. Codes and tokens
// are random; neither is ever in a cookie, which other servers on the same host would receive.
//
// A page of another server must learn nothing. Three checks come before all others: the Host header must name this
// machine (another name that leads here is DNS rebinding), the Origin header must be this server's, and
// Sec-Fetch-Site must not be another site's. No response allows other origins to read it.
//
// Another user of this machine must learn nothing, either. They can connect, and may see the code among the arguments
// of the browser: so a code is only redeemed by a peer whose socket belongs to this user or to root. A code that is
// redeemed a second time has leaked: its token is revoked, and the user is warned.
//
// docs/design/0015-the-server.md has the reasons.
package serve
