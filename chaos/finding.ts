/** Something that is not as it was promised. */
export interface Finding {
  /** `lost`, `doubled`, `repeated` and `stuck` are figures of their own; `wrong` is all else. */
  readonly kind: 'lost' | 'doubled' | 'repeated' | 'stuck' | 'wrong'
  readonly threadId: string
  /** Of the message, call, event or file. */
  readonly id: string
  readonly problem: string
}
