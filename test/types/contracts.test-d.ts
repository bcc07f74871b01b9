import { expectTypeOf, test } from 'vitest'

import type {
  Answer,
  ApprovalRequest,
  Artifact,
  BudgetState,
  ContextManifest,
  FollowEvents,
  FollowWithSnapshot,
  SnapshotUpdated,
  PermissionState,
  RecordedAction,
  RecordedDecision,
  RunResult,
  SandboxProfile,
  ThreadEvent,
  ThreadEventOf,
  ThreadHandle,
  ThreadTool,
} from '../../src/client/index.js'
import type * as Http from '../../src/http/generated/api-types.js'
import type {
  Action,
  ActionContext,
  ActionParent,
  Budget,
  Budgets,
  PermissionDecision,
  Policy,
  PreviewPart,
  ThreadState,
} from '../../src/index.js'

test('PL-LC.4 each contract of a run has an exported type, which is the one that the methods use', () => {
  expectTypeOf<ThreadHandle['waitUntilIdle']>().returns.resolves.toEqualTypeOf<RunResult>()
  expectTypeOf<ThreadHandle['result']>().returns.resolves.toEqualTypeOf<RunResult | null>()
  expectTypeOf<Policy>().parameters.toEqualTypeOf<[action: Action, context: ActionContext]>()
  expectTypeOf<NonNullable<ThreadState['execution']>['abortSignal']>().toEqualTypeOf<AbortSignal>()
  expectTypeOf<ThreadEventOf<'context.resolved'>['payload']>().toExtend<ContextManifest>()
  expectTypeOf<NonNullable<Budgets['tree']>>().toEqualTypeOf<Budget>()
  expectTypeOf<ThreadHandle['budget']>().returns.resolves.toEqualTypeOf<readonly BudgetState[]>()
  expectTypeOf<ThreadHandle['decisions']>().returns.resolves.toEqualTypeOf<readonly RecordedDecision[]>()
  expectTypeOf<RecordedDecision>().toExtend<PermissionDecision>()
  expectTypeOf<RecordedDecision['action']>().toEqualTypeOf<RecordedAction>()
  expectTypeOf<RecordedDecision['permission']>().toEqualTypeOf<PermissionState>()
  expectTypeOf<RecordedDecision['sandbox']>().toEqualTypeOf<SandboxProfile>()
  expectTypeOf<RecordedAction['artifacts']>().toEqualTypeOf<readonly Artifact[]>()
  expectTypeOf<
    Extract<Awaited<ReturnType<ThreadHandle['snapshot']>>['pending'][number], { kind: 'approval' }>
  >().toEqualTypeOf<ApprovalRequest>()
  expectTypeOf<ThreadHandle['respond']>().parameter(1).toEqualTypeOf<Answer>()
  const follow = (thread: ThreadHandle, options?: FollowEvents) => thread.events(options)
  expectTypeOf(follow).returns.toEqualTypeOf<AsyncIterable<ThreadEvent>>()
  const begin = (thread: ThreadHandle, options: FollowWithSnapshot) => thread.events(options)
  expectTypeOf(begin).returns.toEqualTypeOf<AsyncIterable<ThreadEvent | SnapshotUpdated>>()
})

test('PL-AC.2 PL-AC.3 the fields of an action and of an artifact', () => {
  expectTypeOf<Artifact>().toEqualTypeOf<{
    readonly kind: 'preview' | 'result'
    readonly name: string
    readonly uri?: string
    readonly mediaType?: string
    readonly actionId: string
    readonly parts?: readonly PreviewPart[]
    readonly metadata?: NonNullable<Artifact['metadata']>
  }>()
  expectTypeOf<keyof RecordedAction>().toEqualTypeOf<
    | ('id' | 'kind' | 'name' | 'arguments' | 'capabilities' | 'readOnly' | 'destructive')
    | ('runtimeOwner' | 'artifacts')
  >()
  expectTypeOf<ActionContext['parent']>().toEqualTypeOf<ActionParent | null>()
})

test('who runs a tool or an action has one of the names that the HTTP document lists', () => {
  expectTypeOf<Http.ThreadTool['runtimeOwner']>().toEqualTypeOf<ThreadTool['runtimeOwner']>()
  expectTypeOf<Http.ThreadTool['interruptBehavior']>().toEqualTypeOf<ThreadTool['interruptBehavior']>()
  expectTypeOf<Http.RecordedAction['runtimeOwner']>().toEqualTypeOf<RecordedAction['runtimeOwner']>()
})
