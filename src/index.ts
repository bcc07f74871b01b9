export { agent, isAgent } from './definitions/short-form/agent.js'
export { defineAgent } from './definitions/agent.js'
export { ConfigError } from './protocol/errors.js'
export { defineHttpTool } from './definitions/http-tool/http-tool.js'
export { httpToolsFromOpenApi } from './definitions/http-tool/open-api.js'
export { defineEffect } from './definitions/effect.js'
export { defineHook } from './definitions/hook.js'
export { defineModel } from './definitions/model.js'
export { definePrompt } from './definitions/prompt.js'
export { definePolicy } from './policy/action.js'
export { DEFAULT_RATE_LIMITS } from './policy/rate-limits.js'
export { registry } from './definitions/registry.js'
export { defineRemoteTool } from './definitions/tool.js'
export { defineThreadEndpoint } from './definitions/thread-state.js'
export { defineTool } from './definitions/tool.js'
export { defineWorkflowTool } from './definitions/workflow-tool.js'
export type {
  CancelledCall,
  ResumedCall,
  SourceCall,
  SourcePending,
  SourceTool,
  SourceUser,
  ToolSource,
} from './definitions/tool-source.js'
export { ToolError } from './definitions/tool-error.js'
export type { ToolErrorCategory, ToolFailure } from './protocol/payloads/tool-failure.js'
export {
  ApprovalForbiddenError,
  MessageNotFoundError,
  MessageRejectedError,
  NoWorkerError,
  NotCancelableError,
  NotQueuedError,
  RequestNotFoundError,
  TemporalUnavailableError,
  ThreadBusyError,
  ThreadConflictError,
  ThreadError,
  ThreadNotFoundError,
  ThreadTerminatedError,
  UnknownAgentError,
  WaitTimeoutError,
} from './protocol/errors.js'
export { formatCost } from './protocol/status.js'
export { FileError } from './store/files/file-checks.js'
export { StoreError } from './store/store-error.js'

export type { HttpAuth } from './definitions/http-tool/http-auth.js'
export type { HttpToolDefinition } from './definitions/http-tool/http-tool.js'
export type { OpenApiTools } from './definitions/http-tool/open-api.js'
export type { Agent, AgentOptions, SubagentSettings } from './definitions/short-form/agent.js'
export type { AgentModel } from './definitions/short-form/agent-model.js'
export type { AgentDefinition, SessionToolBinding, SideConfig } from './definitions/agent.js'
export type { EffectDefinition } from './definitions/effect.js'
export type {
  AnyHook,
  AskedBecause,
  HookAnswer,
  HookDefinition,
  HookOpinion,
  HookPoint,
  HookPoints,
  HookedCall,
  JudgedCall,
  RunContinuation,
  RunEnding,
} from './definitions/hook.js'
export type {
  LanguageModelProvider,
  ModelCapabilities,
  ModelDefinition,
  ModelRateLimit,
} from './definitions/model.js'
export type {
  PromptDefinition,
  PromptPart,
  ReasoningConfig,
  SubpromptConfig,
  ToolEntry,
} from './definitions/prompt.js'
export type { AgentName, ModelName, ToolInput, ToolName } from './definitions/registry.js'
export type { Registry, RegistryNames } from './definitions/known-definitions.js'
export type { SubagentToolConfig } from './definitions/subagent-tool.js'
export type {
  ExecutionState,
  FileChunk,
  GetMessagesOptions,
  InjectedMessage,
  MessageUpdates,
  QueuedMessage,
  ScheduledEffect,
  ThreadState,
  WriteFileOptions,
} from './definitions/thread-state.js'
export type { ThreadEndpoint } from './definitions/thread-state.js'
export type { PendingToolResult, ToolAnswer, ToolResult, ToolResultPart } from './definitions/tool-result.js'
export type {
  ToolArguments,
  ToolCall,
  ToolDefinition,
  ToolErrorHandler,
  ToolRetry,
  ToolWorkflow,
  WorkflowCall,
} from './definitions/tool.js'
export type { VariableDefinition } from './definitions/agent.js'
export type { WorkflowToolDefinition } from './definitions/workflow-tool.js'
export type { WorkflowIdReuse, WorkflowMode, WorkflowRetry } from './protocol/payloads/tool-workflow.js'
export type {
  Action,
  ActionContext,
  ActionParent,
  ActionTraits,
  DestructiveFacts,
  Policy,
  PolicyAnswer,
} from './policy/action.js'
export type { RunContext } from './policy/run-context.js'
export type { ActionKind } from './protocol/event-codes.js'
export type { ApprovalRule, Caller } from './policy/approval.js'
export type { Preview, PreviewPart } from './policy/preview.js'
export type { PermissionDecision, PermissionMode, ThreadPermissions } from './policy/judge.js'
export type { Budget, Budgets, OwnerBudgets } from './policy/budget.js'
export type { Effect, Permissions, PermissionValue } from './policy/permissions.js'
export type { RateLimits } from './policy/rate-limits.js'
export type { SessionState } from './protocol/payloads/sessions.js'
export type { JsonObject, JsonValue } from './protocol/values.js'
export type {
  AttachmentRef,
  FileRecord,
  Message,
  MessageRole,
  MessageStatus,
  NewAttachment,
  ToolCallEntry,
} from './protocol/message.js'
export type {
  Durations,
  ModelUsage,
  RequestsUsage,
  RunOutcome,
  StopReason,
  ThreadStatus,
  ThreadUsage,
} from './protocol/status.js'
