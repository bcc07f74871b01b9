import { LIMITS } from '../../protocol/limits.js'
import { closeRequests } from '../../store/calls/requests.js'
import { namedDigests, requestsOfClosed, threadNaming, untoldChildren } from '../../store/consistency.js'
import { closeChild } from '../../store/threads/children.js'
import { closedTops, sweepBlobs } from '../../store/threads/retention.js'
import { microseconds } from '../clock.js'
import { deleteThread } from '../retention/delete-thread.js'
import { left, repaired } from './finding.js'
import type { Doctor, Finding } from './finding.js'

/** What the rows and bytes of the store say against each other, whatever Temporal says. */
export async function* checkStore(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  yield* checkRequests(doctor)
  yield* checkChildren(doctor)
  yield* checkDeletions(doctor)
  yield* checkBlobs(doctor)
}

async function* checkRequests(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  for (const { threadId, id } of await store.read((db) => requestsOfClosed(db, LIMITS.deletedAtOnce))) {
    const found = {
      kind: 'open_request',
      threadId,
      problem: `Its request "${id}" is open, and it is closed`,
    } as const
    const work = () => store.write((tx) => closeRequests(tx, { threadId, ids: [id] }))
    yield await repaired(doctor, found, { work, done: 'The request is closed.' })
  }
}

/** What a child owes is answered by its parent's own looking, within the hour: only the registry is mended. */
async function* checkChildren(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  const closedBefore = microseconds() - LIMITS.childCheckLast * 1000
  const untold = await store.read((db) => untoldChildren(db, { closedBefore, limit: LIMITS.deletedAtOnce }))
  for (const { threadId, reference, status } of untold) {
    const problem = `Its child "${reference}" is closed, and its registry has it open`
    const closing = { parentThreadId: threadId, reference, status, now: microseconds() }
    const work = () => store.write((tx) => closeChild(tx, closing))
    yield await repaired(
      doctor,
      { kind: 'untold_child', threadId, problem },
      { work, done: 'The registry has it closed.' },
    )
  }
}

async function* checkDeletions(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  const begun = await store.read((db) =>
    closedTops(db, { before: 1, after: null, limit: LIMITS.deletedAtOnce }),
  )
  for (const { id: threadId } of begun) {
    const found = {
      kind: 'half_deleted',
      threadId,
      problem: 'Its deletion was begun, and did not end',
    } as const
    const work = () => deleteThread(doctor.context, threadId)
    yield await repaired(doctor, found, { work, done: 'It is deleted.' })
  }
}

async function* checkBlobs(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  const there = new Set<string>()
  for await (const { digest } of store.blobs.list()) there.add(digest)
  for (let after = ''; ;) {
    const page = { after, limit: LIMITS.deletedAtOnce }
    const digests = await store.read((db) => namedDigests(db, page))
    for (const digest of digests) {
      // Written since the list was made.
      if (there.has(digest) || (await store.blobs.stream(digest)) !== null) continue
      yield missing(digest, await store.read((db) => threadNaming(db, digest)))
    }
    const last = digests.at(-1)
    if (last === undefined) break
    after = last
  }
  const before = Date.now() - LIMITS.blobGrace
  const unused = await sweepBlobs(store, { before, dryRun: true })
  if (unused === 0) return
  const found = {
    kind: 'unused_blobs',
    threadId: null,
    problem: `${unused} contents of files are named by none`,
  } as const
  const work = () => sweepBlobs(store, { before, dryRun: false })
  yield await repaired(doctor, found, { work, done: 'They are deleted.' })
}

function missing(digest: string, threadId: string | null): Finding {
  const problem = `The bytes ${digest} that its files name are missing`
  return left({ kind: 'missing_blob', threadId, problem }, 'Restore them from a backup, under that digest.')
}
