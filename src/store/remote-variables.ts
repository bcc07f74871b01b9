import { remoteOperationId } from '../protocol/ids.js'
import type { JsonObject } from '../protocol/values.js'
import { createTextRedactor } from './known-secrets.js'
import type { TextRedactor } from './known-secrets.js'
import type { RemoteCall, RemoteKey, StoredResult } from './remote-calls.js'
import type { SecretBox, SecretPlace } from './secret-box.js'

interface RemoteVariable {
  readonly name: string
  readonly value: string
  readonly secret: boolean
}

/** No variable can be called so. */
const RESULT = '\n result'

/** Where a secret of a remote call is sealed for: it opens for no other call. */
export function remoteSecretPlace({ threadId, callId }: RemoteKey, name: string): SecretPlace {
  return { threadId, name: `${remoteOperationId(callId)}:${name}` }
}

/** The same for its result. */
export function remoteResultPlace(key: RemoteKey): SecretPlace {
  return remoteSecretPlace(key, RESULT)
}

/** @throws StoreError `no_key`, `corrupt` */
export function openRemoteVariables(
  secrets: SecretBox,
  key: RemoteKey,
  { variables }: Pick<RemoteCall, 'variables'>,
): readonly RemoteVariable[] {
  return Object.entries(variables).map(([name, { value, keyId }]) => {
    const secret = keyId !== null
    return {
      name,
      secret,
      value: secret ? secrets.open({ value, keyId }, remoteSecretPlace(key, name)) : value,
    }
  })
}

/** Takes the secrets that a call's worker was given out of what it writes (T5). @throws StoreError `no_key`, `corrupt` */
export function remoteRedactor(
  secrets: SecretBox,
  key: RemoteKey,
  call: Pick<RemoteCall, 'variables'>,
): TextRedactor {
  const redactor = createTextRedactor()
  for (const { name, value, secret } of openRemoteVariables(secrets, key, call))
    if (secret) redactor.note(name, value)
  return redactor
}

/** @throws StoreError `no_key` */
export function sealResult(
  secrets: SecretBox,
  key: RemoteKey,
  { variables, result }: Pick<RemoteCall, 'variables'> & { readonly result: JsonObject },
): StoredResult {
  if (Object.values(variables).every(({ keyId }) => keyId === null)) return { plain: result }
  return { sealed: secrets.seal(JSON.stringify(result), remoteResultPlace(key)) }
}

/** @throws StoreError `no_key`, `corrupt` */
export function openResult(secrets: SecretBox, key: RemoteKey, stored: StoredResult): JsonObject {
  if ('plain' in stored) return stored.plain
  return JSON.parse(secrets.open(stored.sealed, remoteResultPlace(key))) as JsonObject
}
