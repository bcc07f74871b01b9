import { randomUUID } from 'node:crypto'

import type { PreparedChild } from '../../protocol/child-activities.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { Asking, ChildPlan } from './child-plan.js'
import { hookChild } from './hook-child.js'
import type { HookedChild } from './hook-child.js'
import type { RequestedChild } from './requested-children.js'

export type PlannedChildren = Extract<ChildPlan, { readonly kind: 'children' }>

/** A child on its way into the store, with what hooks did to it. */
export interface NewChild extends RequestedChild {
  readonly prepared: PreparedChild
  readonly hooked: HookedChild
  /** Among those of its call, from 0. */
  readonly place: number
}

/** Gives them their ids, and to the hooks of the parent. */
export async function newChildren(
  dependencies: ActivityDependencies,
  { input, content }: Asking,
  { subject: { binding }, children: requested }: PlannedChildren,
): Promise<readonly NewChild[]> {
  const children: NewChild[] = []
  for (const [index, child] of requested.entries()) {
    const reference = randomUUID()
    const { agent, resumable } = binding
    const prepared = { reference, agent, messageId: randomUUID(), resumable: resumable !== null }
    const name = index === 0 ? `child_${input.callId}` : `child_${input.callId}_${index}`
    const hooked = await hookChild(dependencies, { input, content, reference, agent, name })
    children.push({ ...child, prepared, hooked, place: index })
  }
  return children
}
