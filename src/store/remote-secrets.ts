/** What remote calls under way have sealed: the variables that their workers get, and results that may repeat one. */
import { remoteOperationId } from '../protocol/ids.js'
import { openRemoteCalls } from './open-remote-calls.js'
import { findRemoteCall, isAnswered } from './remote-calls.js'
import type { RemoteKey, RemoteRecord, StoredResult } from './remote-calls.js'
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
  const result = isAnswered(record) ? record.answer.result : null
  return result !== null && 'sealed' in result ? result.sealed : null
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
  const sealed = sealedResult(record)
  await putSecrets(tx, key, {
    record,
    variables: Object.fromEntries(variables) as RemoteRecord['variables'],
    ...(sealed !== null && { result: { sealed: anew(sealed, remoteResultPlace(key)) } }),
  })
  return old
}

/**
 * The calls have ended, or never were remote ones: nobody opens their secrets any more, and no key is kept for them.
 */
export async function forgetRemoteSecrets(
  tx: Writer,
  { threadId, callIds }: { readonly threadId: string; readonly callIds: readonly string[] },
): Promise<void> {
  for (const callId of callIds) {
    const record = await findRemoteCall(tx, { threadId, callId })
    if (record === null || sealedIn(record).length === 0) continue
    const texts = Object.entries(record.variables).filter(([, variable]) => !isSealed(variable))
    await putSecrets(
      tx,
      { threadId, callId },
      {
        record,
        variables: Object.fromEntries(texts),
        ...(sealedResult(record) !== null && { result: null }),
      },
    )
  }
}

async function putSecrets(
  tx: Writer,
  key: RemoteKey,
  {
    record,
    variables,
    result,
  }: {
    readonly record: RemoteRecord
    readonly variables: RemoteRecord['variables']
    /** Of an answer; what was there stays when it is left out. */
    readonly result?: StoredResult | null
  },
): Promise<void> {
  const { state: _state, attempt: _attempt, answer, ...detail } = record
  await tx
    .updateTable('operations')
    .set({
      detail: JSON.stringify({ ...detail, variables }),
      ...(result === undefined ? {} : { answer: JSON.stringify({ ...answer, result }) }),
    })
    .where('thread_id', '=', key.threadId)
    .where('id', '=', remoteOperationId(key.callId))
    .execute()
}
