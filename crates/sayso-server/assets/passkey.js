// Touching a passkey. What it is for was written down by the server before it is asked for.

const bytes = (text) => {
  const plain = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(plain), (c) => c.charCodeAt(0));
};

const text = (buffer) => {
  if (!buffer) return undefined;
  const plain = btoa(String.fromCharCode(...new Uint8Array(buffer)));
  return plain.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const read = (list) => (list || []).map((one) => ({ ...one, id: bytes(one.id) }));

// A touch of a key that is known: to come in, or for one answer.
export async function touch(options) {
  const asked = options.publicKey;
  const publicKey = { ...asked, challenge: bytes(asked.challenge), allowCredentials: read(asked.allowCredentials) };
  const came = await navigator.credentials.get({ publicKey });
  const said = came.response;
  return {
    id: came.id,
    rawId: text(came.rawId),
    type: came.type,
    extensions: came.getClientExtensionResults(),
    response: {
      authenticatorData: text(said.authenticatorData),
      clientDataJSON: text(said.clientDataJSON),
      signature: text(said.signature),
      userHandle: text(said.userHandle) ?? null,
    },
  };
}

// A key that is to be known from now on.
export async function create(options) {
  const asked = options.publicKey;
  const publicKey = {
    ...asked,
    challenge: bytes(asked.challenge),
    user: { ...asked.user, id: bytes(asked.user.id) },
    excludeCredentials: read(asked.excludeCredentials),
  };
  const came = await navigator.credentials.create({ publicKey });
  return {
    id: came.id,
    rawId: text(came.rawId),
    type: came.type,
    extensions: came.getClientExtensionResults(),
    response: {
      attestationObject: text(came.response.attestationObject),
      clientDataJSON: text(came.response.clientDataJSON),
    },
  };
}
