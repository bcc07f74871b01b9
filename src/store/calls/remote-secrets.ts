/** The sealed parts of open remote calls: the variables for their workers, and results that may contain a secret. */
import { remoteOperationId } from '../../protocol/ids.js'
import type { JsonObject } from '../../protocol/values.js'
import { createTextRedactor } from '../known-secrets.js'
import type { TextRedactor } from '../known-secrets.js'
import type { Sealed, SecretBox, SecretPlace } from '../secret-box.js'
import type { Reader, Store, Writer } from '../store.js'
import { findRemoteCall, isAnswered, openRemoteCalls } from './remote-calls.js'
import type { RemoteCall, RemoteKey, RemoteRecord, StoredResult } from './remote-calls.js'

/** The keys that open remote calls need, to be claimed or completed. */
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

/** Seals with the first key what another key sealed; returns how many. @throws StoreError `no_key` */
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

/** Deletes the secrets of calls that have ended, so that no key has to be kept for them. Other calls are ignored. */
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
    /** The result of the answer; left out: unchanged. */
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

interface RemoteVariable {
  readonly name: string
  readonly value: string
  readonly secret: boolean
}

/** No variable can have this name. */
const RESULT = '\n result'

/** Binds a secret to its remote call: it cannot be opened for another one. */
export function remoteSecretPlace({ threadId, callId }: RemoteKey, name: string): SecretPlace {
  return { threadId, name: `${remoteOperationId(callId)}:${name}` }
}

/** The same for its result. */
function remoteResultPlace(key: RemoteKey): SecretPlace {
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

/** Redacts the secrets that a worker received from what it writes (T5). @throws StoreError `no_key`, `corrupt` */
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
