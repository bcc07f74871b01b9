import type { Writer } from './store.js'

const begun = new WeakMap<Writer, Promise<unknown>[]>()

/**
 * Lets a transaction go on while a write of it is under way: statements run in the order in which they are made, and it
 * commits only when all of these have succeeded. So a database at the other end of a wire is not waited for write by write.
 */
export function meanwhile(tx: Writer, work: Promise<unknown>): void {
  // Asked again by `whenSettled`: until then nobody else listens.
  work.catch(() => undefined)
  const works = begun.get(tx)
  if (works === undefined) begun.set(tx, [work])
  else works.push(work)
}

/** Waits for all of it, also for what is begun until then. @throws what failed, of several what was begun first */
export async function whenSettled(tx: Writer): Promise<void> {
  const works = begun.get(tx) ?? []
  let settled = 0
  while (settled < works.length) {
    const outcomes = await Promise.allSettled(works.slice(settled))
    settled += outcomes.length
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
}
