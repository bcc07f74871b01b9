/** Every way in which a history may differ from what the workflow code does: each has to be found. */

export interface KeptEvent {
  eventId?: string
  eventType?: string
  [attributes: string]: unknown
}

type Events = readonly KeptEvent[]
/** A history that differs, or null where there is nothing of the kind. */
type Mutation = (events: Events) => Events | null

const SCHEDULED = 'ACTIVITY_TASK_SCHEDULED'
const CHILD = 'START_CHILD_WORKFLOW_EXECUTION_INITIATED'
const TIMER = 'TIMER_STARTED'
const TASK = 'WORKFLOW_TASK_COMPLETED'

export const mutations: Readonly<Record<string, Mutation>> = {
  'another activity': (events) =>
    changed(events, SCHEDULED, (attributes) => ({
      ...attributes,
      activityType: { name: nameOf(attributes) === 'thread.settle' ? 'thread.callModel' : 'thread.settle' },
    })),
  'two activities in another order': (events) => {
    const all = ofType(events, SCHEDULED)
    const [first] = all
    const second = all.find((event) => activityOf(event) !== activityOf(first))
    if (first === undefined || second === undefined) return null
    const swapped = new Map([
      [first, activityOf(second)],
      [second, activityOf(first)],
    ])
    return events.map((event) => {
      const name = swapped.get(event)
      return name === undefined
        ? event
        : withAttributes(event, { ...attributesOf(event), activityType: { name } })
    })
  },
  'an activity missing': (events) => without(events, leftToEnd(events)),
  'an activity more': (events) => {
    const [first] = ofType(events, SCHEDULED)
    return first === undefined ? null : inserted(events, events.indexOf(first), { ...first })
  },
  'events missing without their numbers': (events) => {
    const [first] = ofType(events, SCHEDULED)
    return first === undefined ? null : events.filter((event) => event !== first)
  },
  'a timer missing': (events) => without(events, fired(events)),
  'a timer more': (events) => {
    const [, task, following] = ofType(events, TASK)
    if (task === undefined || following === undefined) return null
    const timerStartedEventAttributes = {
      timerId: '99',
      startToFireTimeout: '60s',
      workflowTaskCompletedEventId: task.eventId,
    }
    return inserted(events, events.indexOf(task) + 1, {
      ...{ eventType: `EVENT_TYPE_${TIMER}`, eventTime: task['eventTime'], timerStartedEventAttributes },
    })
  },
  'an activity for a timer': (events) => {
    const [timer] = ofType(events, TIMER)
    const [activity] = ofType(events, SCHEDULED)
    if (timer === undefined || activity === undefined) return null
    const { eventId, eventTime } = timer as { eventId: string; eventTime: unknown }
    return events.map((event) => (event === timer ? { ...activity, eventId, eventTime } : event))
  },
  'another child': (events) =>
    changed(events, CHILD, (attributes) => ({ ...attributes, workflowId: 'another-one' })),
  'a child of another type': (events) =>
    changed(events, CHILD, (attributes) => ({ ...attributes, workflowType: { name: 'otherThread' } })),
  'a child missing': (events) => without(events, ofType(events, CHILD)),
  'a patch that the code does not have': (events) => {
    const [task, following] = ofType(events, TASK)
    if (task === undefined || following === undefined) return null
    const payload = (value: unknown) => ({
      metadata: { encoding: Buffer.from('json/plain').toString('base64') },
      data: Buffer.from(JSON.stringify(value)).toString('base64'),
    })
    const patch_data = { payloads: [payload({ id: 'level-0', deprecated: false })] }
    const markerRecordedEventAttributes = {
      ...{ markerName: 'core_patch', details: { patch_data, 'patch-data': patch_data } },
      workflowTaskCompletedEventId: task.eventId,
    }
    return inserted(events, events.indexOf(task) + 1, {
      eventType: 'EVENT_TYPE_MARKER_RECORDED',
      eventTime: task['eventTime'],
      markerRecordedEventAttributes,
    })
  },
  'a signal to another thread missing': (events) =>
    without(events, ofType(events, 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED')),
  'a cancellation of another thread missing': (events) =>
    without(events, ofType(events, 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED')),
  'an activity that is not told to stop': (events) =>
    without(events, ofType(events, 'ACTIVITY_TASK_CANCEL_REQUESTED')),
  'another end': (events) => {
    const last = events.at(-1)
    const ends = ['WORKFLOW_EXECUTION_COMPLETED', 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW']
    if (last === undefined || !ends.some((type) => isOf(last, type))) return null
    const { eventId, eventTime } = last as { eventId: string; eventTime: unknown }
    const [task] = ofType(events, TASK).slice(-1)
    const failed = {
      ...{ eventId, eventTime, eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_FAILED' },
      workflowExecutionFailedEventAttributes: { workflowTaskCompletedEventId: task?.eventId, failure: {} },
    }
    return [...events.slice(0, -1), failed]
  },
}

export function isOf({ eventType }: KeptEvent, type: string): boolean {
  return eventType === `EVENT_TYPE_${type}`
}

/** Of what the last task asked for nobody knows yet what follows: a history may end anywhere. */
function ofType(events: Events, type: string): Events {
  const last = events.findLast((event) => taskOf(event) !== undefined)
  const isLast = (event: KeptEvent): boolean =>
    taskOf(event) !== undefined && taskOf(event) === taskOf(last ?? {})
  return events.filter((event) => isOf(event, type) && !isLast(event))
}

/** The workflow task that asked for it. */
function taskOf(event: KeptEvent): unknown {
  return attributesOf(event)['workflowTaskCompletedEventId']
}

type Attributes = Readonly<Record<string, unknown>>

export function attributesOf(event: KeptEvent): Attributes {
  const key = Object.keys(event).find((name) => name.endsWith('EventAttributes'))
  return (key === undefined ? {} : event[key]) as Attributes
}

function withAttributes(event: KeptEvent, attributes: Attributes): KeptEvent {
  const key = Object.keys(event).find((name) => name.endsWith('EventAttributes')) ?? ''
  return { ...event, [key]: attributes }
}

function nameOf(attributes: Attributes): string {
  return (attributes['activityType'] as { readonly name?: string } | undefined)?.name ?? ''
}

/** The name of an activity that was scheduled. */
export function activityOf(event: KeptEvent | undefined): string {
  return event === undefined ? '' : nameOf(attributesOf(event))
}

function changed(events: Events, type: string, change: (attributes: Attributes) => Attributes) {
  const [first] = ofType(events, type)
  if (first === undefined) return null
  return events.map((event) => (event === first ? withAttributes(event, change(attributesOf(event))) : event))
}

/** Those that rang: of one that was left alone nothing follows. */
function fired(events: Events): Events {
  const rang = new Set(
    events
      .filter((event) => isOf(event, 'TIMER_FIRED'))
      .map((event) => attributesOf(event)['startedEventId']),
  )
  return ofType(events, TIMER).filter(({ eventId }) => rang.has(eventId))
}

/**
 * Activities that nobody told to stop. A command that no event answers is missed by the next event of one; a cancellation in a
 * later task takes it back before, and with neither in the history nothing is left that could differ.
 */
function leftToEnd(events: Events): Events {
  const stopped = new Set(
    events
      .filter((event) => isOf(event, 'ACTIVITY_TASK_CANCEL_REQUESTED'))
      .map((event) => attributesOf(event)['scheduledEventId']),
  )
  return ofType(events, SCHEDULED).filter(({ eventId }) => !stopped.has(eventId))
}

/** Without the first one and all that came of it, as if it had never been asked for. */
function without(events: Events, [first]: Events): Events | null {
  if (first === undefined) return null
  // A workflow task has a `startedEventId` as well, of another event.
  const references = [
    'scheduledEventId',
    'initiatedEventId',
    ...(isOf(first, TIMER) ? ['startedEventId'] : []),
  ]
  const of = (event: KeptEvent): boolean =>
    references.some((key) => attributesOf(event)[key] === first.eventId)
  return renumbered(events.filter((event) => event !== first && !of(event)))
}

function inserted(events: Events, at: number, event: KeptEvent): Events {
  return renumbered([...events.slice(0, at), { ...event, eventId: 'new' }, ...events.slice(at)])
}

/** Numbers without a gap, and references that follow them. */
export function renumbered(events: Events): Events {
  const numbers = new Map(events.map(({ eventId }, index) => [eventId ?? '', String(index + 1)]))
  const text = JSON.stringify(events, (key, value: unknown) =>
    /eventId$/i.test(key) && typeof value === 'string' ? (numbers.get(value) ?? value) : value,
  )
  return JSON.parse(text) as Events
}
