import type { Reader, Writer } from './store.js'

export interface NewPlan {
  readonly digest: string
  /** JSON. */
  readonly content: unknown
  readonly now: number
}

/** Keeps a plan's content under its digest, so that a run keeps its own while workers change. */
export async function putPlan(tx: Writer, { digest, content, now }: NewPlan): Promise<void> {
  await tx
    .insertInto('plans')
    .values({ digest, content: JSON.stringify(content), created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The parsed content, or null if there is none. */
export async function getPlan(db: Reader, digest: string): Promise<unknown> {
  const row = await db.selectFrom('plans').select('content').where('digest', '=', digest).executeTakeFirst()
  return row === undefined ? null : JSON.parse(row.content)
}
