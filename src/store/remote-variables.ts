import { remoteOperationId } from '../protocol/ids.js'
import type { RemoteCall, RemoteKey } from './remote-calls.js'
import type { SecretBox, SecretPlace } from './secret-box.js'

interface RemoteVariable {
  readonly name: string
  readonly value: string
  readonly secret: boolean
}

/** Where a secret of a remote call is sealed for: it opens for no other call. */
export function remoteSecretPlace({ threadId, callId }: RemoteKey, name: string): SecretPlace {
  return { threadId, name: `${remoteOperationId(callId)}:${name}` }
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
