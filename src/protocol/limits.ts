const KB = 1024
const MB = 1024 * KB
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/**
 * The bounds that several folders share or that a user reads in the documentation, each with its reason, and the shares of the
 * carried state, which together have to fit. A bound of one file is a constant there. Sizes are bytes of UTF-8 JSON, times
 * milliseconds. The simulation and a test replace some of these values.
 */
export const LIMITS = {
  /** Control facts of a plan: they are in the input of each continue-as-new. */
  planBytes: 32 * KB,
  /** The server terminates a thread with a carried state of 3 MB; this leaves room for ten times the usual size. */
  carriedStateBytes: 256 * KB,
  /** The inline text of a raw signal's message; a longer text belongs in the store. */
  inlineContentBytes: 4 * KB,
  /** An activity result of 5 MB is never reported and hangs; ids and flags need a few hundred bytes. */
  activityResultBytes: 64 * KB,
  /**
   * Share of such a result for the operations on the thread: a call with more is refused, because the workflow could
   * not receive them.
   */
  operationBytes: 48 * KB,
  queuedItems: 1000,
  /** Items that one call may queue: its answer carries their ids. */
  queuedByCall: 50,
  /** Tools queued during a step, or by a queued tool: without a bound each could queue another one for ever. */
  queuedToolsPerStep: 50,
  /** Share of the carried state that the packed queue may take: a thousand of the longest ids fit. */
  queueBytes: 128 * KB,
  /**
   * The number of full queues that the store may have admitted before the workflow has removed the items of the first
   * one: one that a model call drains, one behind it, and the items that were removed from both.
   */
  queuesAdmitted: 4,
  /** Share of the calls of a step and of its frames; a step that would carry more ends its run. */
  stepBytes: 32 * KB,
  /** Prompts called as tools, one inside the other. */
  frameDepth: 8,
  /** Effects that are not due yet, and their share of the carried state: ids and times. */
  effects: 500,
  effectBytes: 28 * KB,
  /** Effects that were given up and not reported yet: each took two days of failure, one of its own and one of a settle. */
  givenUpEffects: 20,
  openChildren: 100,
  /** Idle children that closed and are not reported yet: a settle between two steps reports all of them. */
  closedChildren: 30,
  childrenInAll: 10_000,
  childDepth: 8,
  /**
   * Unanswered calls of one child that its parent keeps. The child consumes them in order, so the newest answer also
   * answers the earlier calls.
   */
  invocationsPerChild: 8,
  /**
   * Share of reports that arrive before the calls that they answer, as after a Temporal reset: about fifteen of one
   * call each.
   */
  earlyReportBytes: 3 * KB,
  /** Children that one call starts together. */
  fanOut: 50,
  /** Unanswered calls of its parent that one report of a child may name: more than a parent keeps. */
  invocations: 64,
  /** How long a thread waits for the missing variables of a subagent. */
  deferredChild: 7 * 24 * HOUR,
  /** Operations on other threads whose outbound signals are pending: a few for each open child. */
  outboundSignals: 200,
  /** Facts that wait for the next activity, and their share of the carried state; further ones are only counted. */
  waitingFacts: 100,
  waitingFactBytes: 12 * KB,
  threadIdLength: 200,
  /** The ids of commands that a thread remembers, each of at most so many characters: a UUID fits. */
  commandIds: 16,
  commandIdLength: 40,
  /** A thousand of them, as queued items, fit into their share of the carried state. */
  messageIdLength: 96,
  /** Text of one message: twice what fills a window of 128,000 tokens; a longer text belongs in a file. */
  messageBytes: MB,
  /** Files of one message: each is shown to the model separately. */
  messageAttachments: 100,
  nameLength: 128,
  /**
   * The reason of an answer to a request, and the name of the person who gave it: both are shown to people and to the
   * model.
   */
  answerTextBytes: 4 * KB,
  /** A key, a certificate or a short text fits; a longer value belongs in a file. */
  variableBytes: 64 * KB,
  /** Ten years: a later due time is a mistake of units. */
  effectDelay: 3650 * 24 * HOUR,
  /** One HTTP request without its files, unless the server is given another bound. */
  requestBytes: MB,
  /** Rows of a page of a list: what is sent within a second. */
  longestPage: 500,
  /** Tags, search attributes and similar lists of one start. */
  startNames: 32,
  /** Temporal refuses the 10,001st signal of a run: the thread continues as new long before. */
  signalsPerRun: 1000,
  /** Idle threads stay small: they continue as new when a history is above this, or near it when a run ends (decision 52). */
  idleHistoryEvents: 200,
  idleHistoryBytes: 50 * KB,

  /** Steps of one activity that runs ahead: with more, a step gets hardly cheaper. */
  stepsPerActivity: 10,
  stepsPerRun: 250,
  sessionTurns: 100,
  repeatedToolErrors: 8,
  toolCallsPerAnswer: 128,

  modelCall: 10 * MINUTE,
  modelFirstChunk: 120 * SECOND,
  modelStall: 45 * SECOND,
  /** How long a run waits for providers in all if its agent sets nothing: as long as it waits for the store. */
  providerPatience: 24 * HOUR,
  /** The longest pause that grows by itself: a provider that works again is used within the hour. */
  longestProviderWait: HOUR,
  /** The stream of a longer answer is aborted. */
  answerBytes: 4 * MB,
  toolTimeout: 5 * MINUTE,
  /** Several hooks run inside one activity, whose own timeout leaves them `START_TO_CLOSE_SLACK`. */
  longestHook: 5 * MINUTE,
  /**
   * Time for the claim of a call and the delivery of its result, so that the worker's own limit ends before
   * start-to-close.
   */
  remoteSlack: MINUTE,
  /** Characters of a subagent's status text, as its parent's registry shows it. */
  statusText: 500,
  /** A hook is short work between two phases. A hook that never returns delays its thread by at most this time. */
  hookTimeout: 30 * SECOND,
  /** A longer tool result is stored whole and shown to the model as head, tail and a path to the rest. */
  toolResultBytes: 64 * KB,
  fileBytes: 100 * MB,
  /** All files of one request: in base64, beside 4 MB of texts, they stay below the 32 MB that providers accept. */
  inlinedFileBytes: 20 * MB,

  /** The part of its transcript that a step reads, however long the transcript is (T6); hooks read as much. */
  contextRows: 500,
  contextBytes: 4 * MB,

  /** A summary of the conversation: a longer one is not used. */
  summaryBytes: 16 * 1024,
  /** Characters of what a compaction must keep. */
  compactionFocus: 2000,

  /** A longer wait is divided into several timers: a delay that a tool gives must not break a timer. */
  longestTimer: 365 * 24 * HOUR,
  /** A child that owes an answer and is not observed is checked each minute for five minutes, then ever more rarely. */
  childCheckFirst: MINUTE,
  childCheckLast: HOUR,
  childChecksAtFirst: 5,
  /** How long failures of the store and of workers are retried before the run ends as blocked. */
  scheduleToClose: 24 * HOUR,
  /**
   * How long a thread stands still when its worker dies in a workflow task, which takes milliseconds, and a cold replay
   * a third of a second. Temporal's 10 s would be twice a short heartbeat timeout; from the fourth timeout of a task on
   * the server itself allows more, up to 2 minutes.
   */
  workflowTask: 5 * SECOND,
  /** Younger work is in progress and not reported as a finding: an activity's retries and a signal take less. */
  underWay: MINUTE,
  /** Messages of a fork: they are copied in one transaction, some milliseconds for a thousand. */
  forkedMessages: 50_000,
  /** Rows of one transaction of a deletion: some milliseconds, in which nothing else writes to a SQLite store. */
  deletedAtOnce: 500,
  /** The bytes of a file are kept this long after they were written: a tool that runs for a day names them at its end. */
  blobGrace: 48 * HOUR,
  /** How long the client waits for Temporal, with retries: as long as Temporal's own connect timeout. */
  temporalCall: 10 * SECOND,
  /**
   * How often a stream checks that its last rows are still there: a killed database loses its last unsynchronized
   * writes, with PostgreSQL's default settings at most 0.6 s of them.
   */
  deltaLook: SECOND,
} as const
