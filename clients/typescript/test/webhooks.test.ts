import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verifyWebhook, WebhookError } from "../src/index.js";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const now = 1_614_265_330_000;
const body = `{"type":"memory.created","timestamp":"2021-02-25T15:02:10Z","data":{"group_id":"群","memory_id":"m1"}}`;

function sign(text: string, id = "msg_1", at = "1614265330", by = secret): string {
  const key = Buffer.from(by.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${at}.${text}`).digest("base64")}`;
}

function headers(signature: string, at = "1614265330") {
  return { "Webhook-Id": "msg_1", "webhook-timestamp": at, "webhook-signature": signature };
}

test("a good one is its event, from headers and bodies of any sort", () => {
  const event = { id: "msg_1", ...(JSON.parse(body) as object) };
  const given = headers(`v2,abc v1,${Buffer.alloc(32).toString("base64")} ${sign(body)}`);
  expect(verifyWebhook(given, body, secret, { now })).toEqual(event);
  expect(verifyWebhook(new Headers(given), new TextEncoder().encode(body), ["whsec_bmV3", secret], { now })).toEqual(event);
});

test("the signature is that of the Standard Webhooks' own example", () => {
  const example = `{"test": 2432232314}`;
  const given = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  expect(() => verifyWebhook(given, example, secret, { now })).toThrow("is no event"); // but well signed
  expect(() => verifyWebhook(given, `{"test": 2432232315}`, secret, { now })).toThrow("signature is wrong");
});

test.each([
  ["another body", headers(sign(body)), body + " ", {}],
  ["another secret", headers(sign(body, "msg_1", "1614265330", "whsec_AAAA")), body, {}],
  ["another id", headers(sign(body, "msg_2")), body, {}],
  ["another time", headers(sign(body, "msg_1", "1614265331")), body, {}],
  ["no signature", { "webhook-id": "msg_1", "webhook-timestamp": "1614265330" }, body, {}],
  ["a signature of another version", headers(sign(body).replace("v1", "v1a")), body, {}],
  ["a short signature", headers("v1,AAAA"), body, {}],
  ["a time that is none", headers(sign(body), "soon"), body, {}],
  ["an old one", headers(sign(body)), body, { now: now + 301_000 }],
  ["one of the future", headers(sign(body)), body, { now: now - 301_000 }],
  ["no JSON", headers(sign("{")), "{", {}],
  ["a list", headers(sign("[]")), "[]", {}],
])("%s is refused", (_, given, text, options) => {
  expect(() => verifyWebhook(given, text, secret, { now, ...options })).toThrow(WebhookError);
});

test("an empty secret is a mistake of the program", () => {
  expect(() => verifyWebhook(headers(sign(body)), body, "whsec_", { now })).toThrow(TypeError);
});
