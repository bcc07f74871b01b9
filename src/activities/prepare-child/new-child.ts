import { randomUUID } from 'node:crypto'

import type { PreparedChild } from '../../protocol/child-activities.js'
import type { Writer } from '../../store/store.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { Asking, ChildPlan } from './child-plan.js'
import { childHooks } from './hook-child.js'
import type { ChildHooks } from './hook-child.js'
import type { RequestedChild } from './requested-children.js'

export type PlannedChildren = Extract<ChildPlan, { readonly kind: 'children' }>

/** A child on its way into the store. */
export interface NewChild extends RequestedChild {
  readonly prepared: PreparedChild
  /** Among those of its call, from 0. */
  readonly place: number
  /** What hooks did to it: behind its row, before its first message. */
  readonly commitHooked: (tx: Writer) => Promise<void>
}

export interface NewChildren {
  readonly children: readonly NewChild[]
  /** What hooks did to their parent, once they are written. */
  readonly commitParent: ChildHooks['commitParent']
}

/** Gives them their ids, and to the hooks of the parent. */
export async function newChildren(
  dependencies: ActivityDependencies,
  { input, content }: Asking,
  { subject: { binding }, children: requested }: PlannedChildren,
): Promise<NewChildren> {
  const hooks = childHooks(dependencies, { input, content })
  const children: NewChild[] = []
  for (const [place, child] of requested.entries()) {
    const reference = randomUUID()
    const { agent, resumable } = binding
    const prepared = { reference, agent, messageId: randomUUID(), resumable: resumable !== null }
    const commitHooked = await hooks.meet({ reference, agent })
    children.push({ ...child, prepared, commitHooked, place })
  }
  return { children, commitParent: hooks.commitParent }
}
