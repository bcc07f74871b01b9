/** What a message asks a model to do: calls, step by step. The model of chaos does nothing else, so that a plan decides all. */
export interface Program {
  /** Unique in its thread. */
  readonly id: string
  readonly steps: readonly (readonly ProgramCall[])[]
}

export interface ProgramCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

/** A program as a word of a text; base64, so that the words of one inside another are not found. */
export function programText({ id, steps }: Program): string {
  return `[program ${id} ${Buffer.from(JSON.stringify(steps)).toString('base64url')}]`
}

/** The programs of a text, in order. */
export function programsIn(text: string): readonly Program[] {
  return [...text.matchAll(/\[program ([\w.-]+) ([\w-]+)\]/g)].map(([, id = '', steps = '']) => ({
    id,
    // Written by `programText`.
    steps: JSON.parse(Buffer.from(steps, 'base64url').toString()) as Program['steps'],
  }))
}

/** What finds a call again, in its arguments and in what it says and does: no mark is a part of another one. */
export function refOf(program: string, step: number, call: number): string {
  return `<${program}.${step}.${call}>`
}

/** The marks in a text. */
export function refsIn(text: string): readonly string[] {
  return text.match(/<[\w.-]+>/g) ?? []
}
