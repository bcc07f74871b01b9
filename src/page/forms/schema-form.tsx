/** The fields of a form from a JSON Schema, or JSON where the schema has no plain fields. */
import type { FormField } from './form-values.js'

interface SchemaFormProps {
  /** Null: one field of JSON. */
  readonly fields: readonly FormField[] | null
  readonly texts: Readonly<Record<string, string>>
  readonly change: (texts: Readonly<Record<string, string>>) => void
  /** Makes the ids of the fields unique in the page. */
  readonly id: string
}

/** The name under which a form without fields keeps its JSON. */
export const WHOLE = ''

export function SchemaForm({ fields, texts, change, id }: SchemaFormProps) {
  const set = (name: string, text: string): void => change({ ...texts, [name]: text })
  if (fields === null)
    return (
      <div class="field">
        <label for={`${id}-json`}>JSON</label>
        <textarea
          id={`${id}-json`}
          class="mono"
          rows={6}
          value={texts[WHOLE] ?? ''}
          onInput={(event) => set(WHOLE, event.currentTarget.value)}
        />
      </div>
    )
  return (
    <>
      {fields.map((field) => (
        <div key={field.name} class="field">
          <label for={`${id}-${field.name}`}>
            {field.title}
            {field.isRequired ? '' : <span class="faint"> optional</span>}
          </label>
          <Input
            id={`${id}-${field.name}`}
            field={field}
            text={texts[field.name] ?? ''}
            set={(text) => set(field.name, text)}
          />
          {field.description !== null && <p class="hint">{field.description}</p>}
        </div>
      ))}
    </>
  )
}

interface InputProps {
  readonly id: string
  readonly field: FormField
  readonly text: string
  readonly set: (text: string) => void
}

function Input({ id, field, text, set }: InputProps) {
  if (field.kind === 'boolean')
    return (
      <input
        id={id}
        type="checkbox"
        checked={text === 'true'}
        onChange={(event) => set(String(event.currentTarget.checked))}
      />
    )
  if (field.kind === 'choice')
    return (
      <select id={id} value={text} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">–</option>
        {field.choices.map((choice) => (
          <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
            {typeof choice === 'string' ? choice : JSON.stringify(choice)}
          </option>
        ))}
      </select>
    )
  if (field.kind === 'number' || field.kind === 'integer')
    return (
      <input id={id} inputMode="decimal" value={text} onInput={(event) => set(event.currentTarget.value)} />
    )
  const isLong = field.kind === 'json' || text.length > 60 || text.includes('\n')
  if (!isLong) return <input id={id} value={text} onInput={(event) => set(event.currentTarget.value)} />
  return (
    <textarea
      id={id}
      class={field.kind === 'json' ? 'mono' : ''}
      rows={3}
      value={text}
      onInput={(event) => set(event.currentTarget.value)}
    />
  )
}
