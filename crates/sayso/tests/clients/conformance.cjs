// Loaded before the conformance suite, which has no option for a credential: every request carries the
// agent's token.
const token = process.env.SAYSO_CONFORMANCE_TOKEN;
const http = require('node:http');

const plainFetch = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
  return plainFetch(input, { ...init, headers });
};

const plainRequest = http.request;
http.request = (...args) => {
  const request = plainRequest(...args);
  if (!request.hasHeader('authorization')) request.setHeader('authorization', `Bearer ${token}`);
  return request;
};
