import type { AnyHook, HookDefinition, HookPoint } from '../../definitions/hook.js'
import type { Registry } from '../../definitions/registry.js'
import { waitForDefinition } from '../plan-content.js'

/** The hooks of a prompt that this worker has, in the order of the list. */
export interface FoundHooks {
  of<Point extends HookPoint>(point: Point): readonly HookDefinition<Point>[]
  readonly missing: readonly string[]
}

/**
 * Looks the ids up. One that this worker lacks is waited for, as long as a rolling deploy takes, then skipped.
 * @throws `Definition.Missing` within that minute
 */
export function findHooks(registry: Pick<Registry, 'hook'>, ids: readonly string[]): FoundHooks {
  const found: AnyHook[] = []
  const missing: string[] = []
  for (const id of ids) {
    const hook = registry.hook(id)
    if (hook === undefined) missing.push(id)
    else found.push(hook)
  }
  if (missing.length > 0) waitForDefinition(`hooks ${missing.map((id) => `"${id}"`).join(', ')}`)
  return {
    // The point is what tells the members of the union apart.
    of: <Point extends HookPoint>(point: Point) =>
      found.filter((hook) => hook.hook === point) as unknown as readonly HookDefinition<Point>[],
    missing,
  }
}
