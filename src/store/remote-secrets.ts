/** What remote calls under way have sealed: the variables that their workers get, and results that may repeat one. */
import { remoteOperationId } from '../protocol/ids.js'
import { openRemoteCalls } from './open-remote-calls.js'
import { findRemoteCall, isAnswered } from './remote-calls.js'
import type { RemoteKey, RemoteRecord } from './remote-calls.js'
import { remoteResultPlace, remoteSecretPlace } from './remote-variables.js'
import type { Sealed, SecretBox, SecretPlace } from './secret-box.js'
import type { Reader, Store, Writer } from './store.js'

/** The keys without which a call under way could not be given to its worker, or not be completed. */
export async function remoteKeyIds(db: Reader): Promise<ReadonlySet<string>> {
  const calls = await openRemoteCalls(db)
  return new Set(calls.flatMap(({ record }) => sealedIn(record).map(({ keyId }) => keyId)))
}

function sealedIn(record: RemoteRecord): readonly Sealed[] {
  const variables = Object.values(record.variables).filter(isSealed)
  const result = sealedResult(record)
  return result === null ? variables : [...variables, result]
}

function isSealed<V extends { readonly keyId: string | null }>(
  variable: V,
): variable is V & { readonly keyId: string } {
  return variable.keyId !== null
}

function sealedResult(record: RemoteRecord): Sealed | null {
  return isAnswered(record) && 'sealed' in record.answer.result ? record.answer.result.sealed : null
}

/** Seals anew with the first key what another one sealed; answers how many. @throws StoreError `no_key` */
export async function rotateRemoteSecrets(store: Store): Promise<number> {
  let rotated = 0
  for (const { threadId, callId } of await store.read(openRemoteCalls))
    rotated += await store.write((tx) => rotateCall(tx, store.secrets, { threadId, callId }))
  return rotated
}

async function rotateCall(tx: Writer, secrets: SecretBox, key: RemoteKey): Promise<number> {
  const record = await findRemoteCall(tx, key)
  if (record === null) return 0
  const [newest = ''] = secrets.keyIds
  const old = sealedIn(record).filter(({ keyId }) => keyId !== newest).length
  if (old === 0) return 0
  const anew = (sealed: Sealed, place: SecretPlace) => secrets.seal(secrets.open(sealed, place), place)
  const variables = Object.entries(record.variables).map(([name, variable]) => [
    name,
    isSealed(variable) ? anew(variable, remoteSecretPlace(key, name)) : variable,
  ])
  const { state: _state, attempt: _attempt, answer, ...detail } = record
  const sealed = sealedResult(record)
  const result = sealed === null ? {} : { result: { sealed: anew(sealed, remoteResultPlace(key)) } }
  await tx
    .updateTable('operations')
    .set({
      detail: JSON.stringify({
        ...detail,
        variables: Object.fromEntries(variables) as RemoteRecord['variables'],
      }),
      ...(answer === null ? {} : { answer: JSON.stringify({ ...answer, ...result }) }),
    })
    .where('thread_id', '=', key.threadId)
    .where('id', '=', remoteOperationId(key.callId))
    .execute()
  return old
}
