/** A row with parsed JSON and boolean columns. */
export type Decoded<Row, Changed> = Readonly<Omit<Row, keyof Changed> & Changed>

type Encoded<Row, Given> = { [Key in keyof Given]: Key extends keyof Row ? Row[Key] : never }

export interface RowCodec<Row, Domain> {
  readonly fromRow: (row: Row) => Domain
  /** Converts the given columns only, so it also works for patches. */
  readonly toRow: <Given extends Partial<Domain>>(given: Given) => Encoded<Row, Given>
}

interface Columns<Row> {
  readonly json?: readonly (keyof Row & string)[]
  readonly flags?: readonly (keyof Row & string)[]
}

/** Converts between rows and records: the wire boundary of the database. */
export function rowCodec<Row extends object, Changed extends object>({
  json = [],
  flags = [],
}: Columns<Row>): RowCodec<Row, Decoded<Row, Changed>> {
  return {
    fromRow(row) {
      const record = { ...row } as { [column: string]: unknown }
      for (const column of json) record[column] = parseJson(record[column])
      for (const column of flags) record[column] = record[column] !== 0
      return record as Decoded<Row, Changed>
    },
    toRow<Given extends Partial<Decoded<Row, Changed>>>(given: Given) {
      const row: { [column: string]: unknown } = { ...given }
      for (const column of json) if (row[column] !== undefined) row[column] = toJson(row[column])
      for (const column of flags) if (row[column] !== undefined) row[column] = row[column] === true ? 1 : 0
      return row as Encoded<Row, Given>
    },
  }
}

function parseJson(text: unknown): unknown {
  return typeof text === 'string' ? JSON.parse(text) : null
}

function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}
