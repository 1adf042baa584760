package otlp

import "github.com/heaptap/heaptap/internal/export/protobuf"

// Field numbers of OpenTelemetry's values.
const (
	keyValueKey, keyValueValue        = 1, 2
	valueText, valueNumber, valueList = 1, 3, 5
	listValues                        = 1
)

func textValue(s string) *protobuf.Message {
	var m protobuf.Message
	m.SetString(valueText, valid(s))
	return &m
}

func numberValue(n int64) *protobuf.Message {
	var m protobuf.Message
	m.SetUint(valueNumber, uint64(n))
	return &m
}

func listValue(texts []string) *protobuf.Message {
	var m, list protobuf.Message
	for _, s := range texts {
		list.Message(listValues, textValue(s))
	}
	m.Message(valueList, &list)
	return &m
}

func keyValue(key string, value *protobuf.Message) *protobuf.Message {
	var m protobuf.Message
	m.String(keyValueKey, key)
	m.Message(keyValueValue, value)
	return &m
}
