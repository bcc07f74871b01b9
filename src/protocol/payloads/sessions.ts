/** The words of sessions: a session is a thread without a parent, with all threads below it. Its id is that of this root thread. */

/**
 * The state of a session. Later versions add members.
 *
 * - `active`: something of it runs, or waits to run.
 * - `idle`: it waits for its user, or for a person who answers a request.
 * - `completed`: the newest run of its root thread ended the session with success (`session_stop`), and nothing came since.
 * - `failed`: the newest run of its root thread has failed, and nothing came since.
 * - `abandoned`: a sweep has ended it while it was idle, because nobody used it for long.
 * - `terminated`: it was ended while it was active or idle.
 * - `escalated`: a person has taken over, until that is taken back.
 * - `archived`: it is kept, and takes nothing more.
 */
export type SessionState = OwnState | 'escalated' | 'archived' | (string & {})

/** The state that a thread has by itself, whatever the threads below it do. */
export type OwnState = 'active' | 'idle' | 'completed' | 'failed' | 'abandoned' | 'terminated'

export const SESSION_STATES: readonly SessionState[] = [
  ...['active', 'idle', 'completed', 'failed', 'abandoned', 'terminated', 'escalated', 'archived'],
]

/** A field of a session that a command changes. */
export type SessionField =
  /** Its title. */
  | 'title'
  /** Its tags. */
  | 'tags'
  /** The JSON object of the application. */
  | 'metadata'
  /** Where its work takes place. */
  | 'workspaceUri'
  /** Whether it is archived. */
  | 'archived'
  /** Whether a person has taken over. */
  | 'escalated'

/** A change of a session. */
export interface SessionUpdated {
  /** The fields that have changed; `threads.sessions.get` has their values. */
  readonly changed: readonly SessionField[]
  /** Whether the session is archived from now on; left out: that has not changed. */
  readonly archived?: boolean
  /** Whether a person has taken over from now on; left out: that has not changed. */
  readonly escalated?: boolean
}
