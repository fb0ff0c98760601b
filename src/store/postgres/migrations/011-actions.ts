import type { Migration } from './migration.ts'

/** What operators asked for. It is only ever added to. */
export const actionsMigration: Migration = {
  version: 11,
  name: 'actions',
  sql: (schema) => `
CREATE TABLE ${schema}.actions (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      bigint NOT NULL,
  action  text NOT NULL,
  target  text,
  role    text NOT NULL,
  "user"  text,
  address text,
  details text -- JSON
);
CREATE FUNCTION ${schema}.refuse_change_of_actions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the record of actions is only added to';
END $$;
CREATE TRIGGER actions_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON ${schema}.actions
FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.refuse_change_of_actions();
`,
}
