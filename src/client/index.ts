export { ThreadClient } from './thread-client.js'
export { toUIMessageStreamResponse } from './ui-messages/response.js'

export type { Answer, Remember } from './answers/check-answer.js'
export type { ApprovalRequest, BudgetRequest } from './answers/pending-request.js'
export type { Grant, GrantsFilter } from './lists/grants.js'
export type { Caller } from '../policy/approval.js'
export type { Artifact, PermissionState, RecordedAction, SandboxProfile } from '../policy/action-record.js'
export type { ContextManifest } from '../protocol/event-codes.js'
export type { CreateThread } from './create-thread.js'
export type { FollowWithSnapshot, SnapshotMode, SnapshotUpdated } from './events/event-stream.js'
export type { FollowEvents } from './events/follow-events.js'
export type { ViewedEvent } from './events/follow-view.js'
export type { AgentSummary } from './lists/list-threads.js'
export type { ListPending, PendingPage, ThreadRequest } from './lists/list-threads.js'
export type {
  ListThreads,
  ThreadCounts,
  ThreadOwner,
  ThreadSummary,
  ThreadsPage,
} from './lists/list-threads.js'
export type { NewMessage } from './messages/send-message.js'
export type { ToolCallRead } from './messages/read-call.js'
export type { CompactionRequested, CompactOptions } from './messages/compact-context.js'
export type { Cancelled, Stopped, StopOptions } from './messages/steer.js'
export type { MessageEnd, MessageRead } from './messages/read-message.js'
export type { OnNotice, ThreadNotice } from './client-context.js'
export type { PageOptions } from './lists/list-threads.js'
export type { PendingRequest } from './answers/pending-request.js'
export type { Examine, Finding, FindingKind } from './doctor/finding.js'
export type { DeletedThread, DeleteThread, KeptHistory } from './retention/delete-thread.js'
export type { ForkThread } from './forks/fork-thread.js'
export type { ReopenThread } from './reopen-thread.js'
export type { EscalateSession, Sessions } from './sessions/change-session.js'
export type { ListSessions, ReadSession, Session, SessionFile } from './read-session.js'
export type { SessionRun, SessionsPage, SessionSummary } from './read-session.js'
export type { RunContext } from '../policy/run-context.js'
export type { SessionFields } from './sessions/session-fields.js'
export type { SessionState } from '../protocol/payloads/sessions.js'
export type { Escalation } from '../store/threads/session-state.js'
export type { SweepThreads, SweptThreads } from './retention/sweep-threads.js'
export type { ClaimRemoteCall, ClaimedCall } from './remote-calls.js'
export type { RemoteCalls } from './remote-calls.js'
export type { DecisionsOptions, RecordedDecision } from './lists/decisions.js'
export type { ErrorsOptions, RecordedError } from './lists/recorded-errors.js'
export type { RunResult } from './reads/run-result.js'
export type { ThreadClientOptions } from './thread-client.js'
export type { FileRange, FileStream, ThreadFiles } from './lists/thread-files.js'
export type { MessagesOptions, RespondOptions, ThreadHandle } from './thread-handle.js'
export type { PermissionSummary, SourceEffects } from './lists/thread-permissions.js'
export type { ExhaustedLimit, ModelChoice, RoutingSummary } from './lists/thread-routing.js'
export type { ThreadTool, ThreadTools } from './lists/thread-tools.js'
export type { ThreadTree } from './lists/thread-tree.js'
export type { UsageOptions } from './lists/thread-usage.js'
export type { ThreadReadModel } from './reads/read-model.js'
export type { ArtifactSummary, ThreadArtifacts } from './reads/thread-artifacts.js'
export type { ContextBoundary } from './reads/thread-boundaries.js'
export type { ChildrenPage } from './reads/thread-children.js'
export type { Incident, ThreadDiagnostics } from './reads/thread-diagnostics.js'
export type { QueueEntry, ThreadQueue } from './reads/thread-queue.js'
export type {
  Capabilities,
  CommandCapability,
  EventCapability,
  FactCapability,
  MissingValue,
  Unavailable,
  UnavailableCapability,
} from '../views/capabilities.js'
export type { ControlState } from '../views/control-states.js'
export type { EffectSummary, ThreadSnapshot } from './read-snapshot.js'
export type {
  Durations,
  ModelUsage,
  RequestsUsage,
  SubagentRegistryEntry,
  ThreadUsage,
} from '../protocol/status.js'
export type { ListWebhooks, NewWebhook, Webhook, WebhookChange, Webhooks } from './webhooks/webhooks.js'
export type { MessageCallback } from './webhooks/callback.js'
export type { DeliverWebhooks } from './webhooks/deliver-webhooks.js'
export type { EgressOptions } from './thread-client.js'
export type { WaitUntilIdle } from './waiting/wait-until-idle.js'
export type { StoreOptions } from '../store/store-location.js'
export type { BudgetState } from '../store/budgets/budget-state.js'
export type { PermissionsOwner } from '../store/threads/owner-permissions.js'
export { fold } from '../fold/index.js'
export type { FoldableSnapshot, FoldedChild, FoldedRequest, FoldedRun, FoldedThread } from '../fold/index.js'
export type { ThreadEvent, ThreadEventOf } from '../protocol/events.js'
export type { DeltaPayload, ProgressPayload } from '../protocol/payloads/live-text.js'
export type { UIStreamReading } from './ui-messages/follow.js'
export type { UIStreamResponse } from './ui-messages/response.js'
export type { SubmitUIMessages, UIMessagesRequest } from './ui-messages/submit.js'
export type { ThreadUIMessages } from './thread-ui-messages.js'
export type { UIMessages, UIMessagesOptions } from './ui-messages/transcript.js'
export type {
  UIFile,
  UIFinishReason,
  UIMessage,
  UIMessageChunk,
  UIPart,
  UIText,
} from '../views/ui-messages.js'
