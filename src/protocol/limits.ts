const KB = 1024
const MB = 1024 * KB
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Every number of the protocol, with its reason. Sizes are bytes of UTF-8 JSON, times milliseconds. */
export const LIMITS = {
  /** Control facts of a plan: they ride in each continue-as-new. */
  planBytes: 32 * KB,
  /** A carried state of 3 MB makes the server terminate the thread; this leaves room for ten times the usual. */
  carriedStateBytes: 256 * KB,
  /** What a message of a raw signal may carry inline; more belongs in the store. */
  inlineContentBytes: 4 * KB,
  /** An activity result of 5 MB is never reported and hangs; ids and flags need a few hundred bytes. */
  activityResultBytes: 64 * KB,
  /** Share of such a result for what was done to the thread: a call that did more is refused, for nobody could be told. */
  operationBytes: 48 * KB,
  queuedItems: 1000,
  /** What one call may queue: its answer carries their ids. */
  queuedByCall: 50,
  /** Tools queued during a step, or by a tool that was queued: each might queue another one for ever. */
  queuedToolsPerStep: 50,
  /** Share of the carried state that the queue may take, as it is packed: a thousand of the longest ids fit. */
  queueBytes: 128 * KB,
  /**
   * As often as that the store may have let in a full queue before the workflow hears what left it: one that a model call
   * drains, one behind it, and what was taken back of both.
   */
  queuesAdmitted: 4,
  /** Share of the calls of a step, with those of its frames; a step that would carry more ends its run. */
  stepBytes: 32 * KB,
  /** Prompts called as tools, one inside the other. */
  frameDepth: 8,
  /** Effects that are not due yet, and their share of the carried state: ids and times. */
  effects: 500,
  effectBytes: 28 * KB,
  /** Effects that were given up and are not told: each took two days of failure, one of its own and one of a settle. */
  givenUpEffects: 20,
  openChildren: 100,
  /** Idle children that closed and are not told: a settle between two steps tells of all. */
  closedChildren: 30,
  childrenInAll: 10_000,
  childDepth: 8,
  /** Unanswered calls that are kept of one child, which takes them in order: the newest answer for those before. */
  invocationsPerChild: 8,
  /** How far the number of a report that answers no call may be ahead of the last one: a few of them may be lost. */
  reportGap: 64,
  /** Share of reports that came before their calls were known, as after a Temporal reset: some fifteen of one call. */
  earlyReportBytes: 3 * KB,
  /** Children that one call starts in one go. */
  fanOut: 50,
  /** Calls of its parent that a child has not answered yet and one report may name: more than a parent keeps. */
  invocations: 64,
  /** How long a subagent's missing variables are waited for. */
  deferredChild: 7 * 24 * HOUR,
  /** Before a thread whose run refuses its 10,001st signal is told again: it continues as new when it can. */
  refusedSignal: MINUTE,
  /** Operations on other threads that wait to be told: a few for each open child. */
  waitingTells: 200,
  /** Facts that wait for the next activity, and their share of the carried state; more are counted only. */
  waitingFacts: 100,
  waitingFactBytes: 12 * KB,
  threadIdLength: 200,
  /** A thousand of them, as queued items, fit into their share of the carried state. */
  messageIdLength: 96,
  /** Text of one message: twice what fills a window of 128,000 tokens; more belongs into a file. */
  messageBytes: MB,
  /** What children of one group tell in one message: a quarter of a window of 128,000 tokens. */
  groupBytes: 128 * KB,
  /** Files of one message: each is shown to the model on its own. */
  messageAttachments: 100,
  nameLength: 128,
  /** Why or by whom a request was answered: shown to people and to the model. */
  answerTextBytes: 4 * KB,
  /** A key, a certificate, a short text; more belongs into a file. */
  variableBytes: 64 * KB,
  /** Characters of a secret below which it is not looked for in texts: shorter ones are parts of ordinary words. */
  shortestRedacted: 6,
  /** A custom event is written while the call runs, for whoever watches. */
  customEventBytes: 16 * KB,
  /** A tool that emits more floods its thread's log. */
  customEventsByCall: 1000,
  effectArgumentBytes: 64 * KB,
  /** Ten years: a due time beyond it is a mistake of units. */
  effectDelay: 3650 * 24 * HOUR,
  /** Of one HTTP request, files apart: 32 of the longest variables fit, and a message with its metadata. */
  requestBytes: 4 * MB,
  /** Of a request that carries a few words at most. */
  smallRequestBytes: 16 * KB,
  /**
   * How late the last activity of a working thread may be in lists: each change of it moves entries of seven indexes, and
   * makes transactions of other threads lose to it (docs/decisions/0050).
   */
  activityPrecision: MINUTE,
  /** The same of messages that come one upon another. */
  messagePrecision: SECOND,
  /** Rows of a list that is read page by page: a screen of them, and at most what a second takes to send. */
  page: 50,
  longestPage: 500,
  /** A stream of events says something this often, for proxies cut what is quiet for half a minute. */
  eventHeartbeat: 15 * SECOND,
  /** Then it ends, and the client goes on behind its last event: a token that was taken away is not good for ever. */
  eventStream: HOUR,
  /** What is in flight when a server closes has this long: orchestrators kill after 30 s, and the store is closed before. */
  serverCloseGrace: 10 * SECOND,
  /** Proxies give an answer a minute: whoever called an endpoint that hangs gets our words, not theirs. */
  endpointTimeout: 50 * SECOND,
  /** What such a one left under way has this long to be written: with it, the answer still comes within that minute. */
  endpointClosing: 5 * SECOND,
  /** Tokens of calls that were good here, 64 bytes each: more calls are hardly at work at a time. */
  knownTokens: 10_000,
  /** How long a look whether the server is ready may take, and how long its answer is good for. */
  readinessCheck: 2 * SECOND,
  /** Of the call to Temporal: the SDK's repetition that meets this deadline ends the call, and comes up to a second late. */
  readinessCall: SECOND,
  readinessAge: SECOND,
  /** Tags, search attributes and the like of one start. */
  startNames: 32,
  /** A run refuses its 10,001st signal: long before, the thread continues as new. */
  signalsPerRun: 1000,
  /** A worker that died or forgot a thread costs the next one the replay of its history: some 0.3 s then (decision 43). */
  historyEvents: 500,
  /** Idle threads stay small: a history above this, or near it when a run ends, is left behind (decision 52). */
  idleHistoryEvents: 200,
  idleHistoryBytes: 50 * KB,

  stepsPerRun: 250,
  sessionTurns: 100,
  repeatedToolErrors: 8,
  toolCallsPerAnswer: 128,

  modelCall: 10 * MINUTE,
  modelFirstChunk: 120 * SECOND,
  modelStall: 45 * SECOND,
  /** For all first arguments that models derive as a prompt becomes active: what is known without them has to do then. */
  bootstraps: 2 * MINUTE,
  modelAttempts: 2,
  /** A provider's pause beyond this is waited for by the workflow, not inside the activity. */
  retryAfterInActivity: 10 * SECOND,
  /** What a run waits for providers in all if its agent does not say: as long as the store is waited for. */
  providerPatience: 24 * HOUR,
  /** The longest pause that grows by itself: a provider that is well again is noticed within the hour. */
  longestProviderWait: HOUR,
  /** A full provider is looked at again after this: nobody knows when a call in flight ends. */
  fullProviderWait: 15 * SECOND,
  /** Times that a step cuts its context anew when its model finds it too long. */
  contextCuts: 2,
  /** The stream of an answer above this is aborted. */
  answerBytes: 4 * MB,
  toolTimeout: 5 * MINUTE,
  /** Several hooks run inside one activity, whose own limit leaves them `startToCloseSlack`. */
  longestHook: 5 * MINUTE,
  /** As long as a hook may take: a question to a person is asked when the check for it hangs. */
  approvalCheck: 30 * SECOND,
  /** For the claim of a call and the delivery of its result: the worker's own limit wins over start-to-close. */
  remoteSlack: MINUTE,
  /** A worker that dies or fails again and again is tried for some two minutes. */
  remoteAttempts: 10,
  /** What one call may stage; each is a line of its row. */
  remoteFiles: 100,
  /** Before the second attempt of a tool that asks for retries; doubled before each later one. */
  toolRetryPause: SECOND,
  /** A status text of a subagent, as its parent's registry shows it. */
  statusText: 500,
  /** A hook is small work between two others: one that never answers holds its thread up no longer than this. */
  hookTimeout: 30 * SECOND,
  /** A tool result above this is stored whole and shown to the model as head, tail and a path to the rest. */
  toolResultBytes: 64 * KB,
  fileBytes: 100 * MB,
  /** How old the time of a blob may be when the same bytes are written again: sweeps wait for a day. */
  blobRenewal: HOUR,
  /** What S3 takes as one request, and a stream as one part: some five of them are in memory, one that fails is sent again. */
  s3PartBytes: 8 * MB,
  s3PartsAtOnce: 2,
  /** Attempts of one request, with the SDK's own pauses: activities try again after it for a day. */
  s3Attempts: 4,
  /** A service that is there takes a connection in milliseconds. */
  s3Connect: 5 * SECOND,
  /** From the first byte of a request to the answer: a part passes at 140 KB/s, and a copy of 100 MB has its time. */
  s3Request: 60 * SECOND,
  /** A connection on which nothing moves; a reader that rests longer has it opened anew. */
  s3Idle: 20 * SECOND,
  /** Times that a broken download is opened anew without one more byte. */
  s3Resumes: 3,
  /** Of one request, in one file or in several: in base64, beside 4 MB of texts, it is below the 32 MB that providers take. */
  inlinedFileBytes: 20 * MB,

  /** The window of a model that does not say how large its own is. */
  contextTokens: 128_000,
  /** What a step reads of its transcript, however long that is (T6); hooks get as much. */
  contextRows: 500,
  contextBytes: 4 * MB,
  /** What is left of each tool result, head and tail, when one step alone is larger than the window. */
  clippedResultBytes: 4 * KB,
  /** Share of the model's window that may be filled before the history is cut to half. */
  contextShare: 0.8,

  /** A later time is waited for in several timers: what a tool gives as a delay must not break a timer. */
  longestTimer: 365 * 24 * HOUR,
  heartbeatTimeout: 30 * SECOND,
  /** Less would time out every activity, more would leave a dead worker unnoticed. */
  shortestHeartbeat: SECOND,
  longestHeartbeat: 10 * MINUTE,
  /** The server terminates a workflow with a larger value. */
  searchAttributeBytes: 2000,
  /** Start-to-close is an activity's own limit plus this: the inner limit always wins. */
  startToCloseSlack: 15 * MINUTE,
  /** A child that is owed and no longer observed is looked for each minute for five minutes, then ever more rarely. */
  childCheckFirst: MINUTE,
  childCheckLast: HOUR,
  childChecksAtFirst: 5,
  /** How long store and worker failures are retried before the run ends as blocked. */
  scheduleToClose: 24 * HOUR,
  /**
   * What a thread cannot go on without is not stored after that: it is tried again, for a day each time, until it is. Pauses
   * double from one to the other, so that a history which tries in vain, with refusals that come at once, lasts for ten years.
   */
  storedAgainFirst: MINUTE,
  storedAgainLast: 24 * HOUR,
  /**
   * Retries are quick for a worker that died, also the fifth in one call: each costs the heartbeat timeout already. Where
   * attempts fail by themselves they grow to 30 s within three minutes, and one that finds no store has waited for it as long.
   */
  retryFirst: SECOND / 2,
  retryGrowth: 1.2,
  retryLast: 30 * SECOND,
  /** Of another worker's activity: ten attempts in some two minutes. */
  remoteRetryGrowth: 2,
  /**
   * How long a thread stands still when its worker dies in a workflow task, which takes milliseconds, and a cold replay
   * a third of a second. Temporal's 10 s would be twice a short heartbeat timeout; from the fourth timeout of a task on
   * the server itself gives more, up to 2 minutes.
   */
  workflowTask: 5 * SECOND,
  /** A definition that this worker lacks is waited for: a rolling deploy takes about a minute. */
  missingDefinition: 60 * SECOND,
  /** What was accepted or asked for just now is on its way: an activity's retries and a signal take less. */
  underWay: MINUTE,
  /** A workflow task that fails so often fails by itself: a worker that died costs one or two. */
  failingAttempts: 5,
  /** Rows of one transaction of a deletion: some milliseconds, in which nobody else writes to a SQLite store. */
  deletedAtOnce: 500,
  /** How long a deletion waits for its threads to close: twice the time after which a dead worker is noticed. */
  deletedClose: 60 * SECOND,
  /** A file's bytes are kept so long after they were written: a tool that runs for a day names them at its end. */
  blobGrace: 48 * HOUR,
  snapshotQuery: 2 * SECOND,
  /** How long the client lets Temporal answer, retries in it: as long as Temporal's own connect timeout. */
  temporalCall: 10 * SECOND,
  /** How long an answer waits for a worker that takes it: it is kept, and the caller gives it again. */
  respond: 10 * SECOND,
  /** Between two looks whether the workflow knows a request whose row is older than its activity's answer. */
  respondPause: SECOND / 20,
  /** PostgreSQL takes a hundred in all unless told otherwise: four processes with these, and a few for people. */
  databaseConnections: 20,
  /** That each of them keeps planned at most, 50 KB of the server's memory for one; a step of a thread has some forty. */
  databaseStatements: 200,
  /** How long opening, a read or a write waits for others in all: activities retry after it, people see a sentence. */
  databasePatience: 30 * SECOND,
  /** Statements take milliseconds; the longest, of a migration, has no limit. */
  databaseStatement: 30 * SECOND,
  /** A lock held longer belongs to a session that hangs: three tries fit into the patience. */
  databaseLock: 10 * SECOND,
  /** How long a write that has lost too often waits for its turn: all others wait behind it. */
  databaseTurn: SECOND / 2,
  /** When it has its turn and its process stands still. */
  databaseTurnIdle: 5 * SECOND,
  /** A transaction of a process that stands still keeps others from its rows. */
  databaseIdle: 60 * SECOND,
  /** Longer than any process asks what became of a commit, also one that was put to sleep; and how often older ones are deleted. */
  commitMarkAge: HOUR,
  commitMarkSweep: MINUTE,
  /** How long a migration tries to get at tables that others use: it waits in turns, so that they never wait for it. */
  migrationPatience: 5 * MINUTE,
  /** After a commit was told to other processes, those of this long are told together: many streams commit all the time. */
  notifyDelay: 3,
  /** A notification is lost with the process or the connection that had it: who watches is behind no longer than this. */
  watchFallback: SECOND,
  /** Longer than any statement may take: the network is gone without saying so. */
  databaseSilence: 40 * SECOND,
  /** Deltas of a stream are written at once, then in batches of this age or size. */
  deltaInterval: 10,
  deltaBytes: KB,
  /** After a batch of them that the store could not take: it has waited for the store itself. */
  deltaRetry: SECOND / 2,
  /**
   * A database that is killed forgets what it was given in its last moments and nobody counts on, with PostgreSQL's own
   * settings at most 0.6 s of it: how often a stream looks whether its last rows are there, and for how long it does.
   */
  deltaLook: SECOND,
  deltaFleeting: 2 * SECOND,
  /** Between two looks whether another process wrote to a SQLite store; one costs microseconds. */
  storePoll: 10,
  /** The same while nobody has written for a second: it costs a tenth of a percent of a core, not one or two. */
  storePollIdle: 40,
  eventJoinBytes: 16 * KB,
  /** Previews that come with a change of the queue; the snapshot has all of them. */
  eventQueueItems: 50,
} as const
