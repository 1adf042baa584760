module github.com/heaptap/heaptap

go 1.26
