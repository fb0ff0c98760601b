import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'

/** Statements for both databases are beside the folder of PostgreSQL. */
const SOURCES = 'src/store'

/** Whatever looks like a call in the sources of the store; the server knows which of them are its functions. */
function calledNames(): string[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('sqlite'),
  )
  const texts = files.map((file) => readFileSync(`${SOURCES}/${file}`, 'utf8'))
  return [
    ...new Set(texts.flatMap((text) => [...text.matchAll(/\b([a-z_]\w*)\(/g)].map(([, name]) => name!))),
  ]
}

const OPERATORS = '= <> < > <= >= + - * / % ^ || && @> <@ -> ->> ~ ~~ !~~'.split(' ')

/** Types of our parameters and columns, of those of the tests, and of the catalog. */
const TYPES =
  `text varchar bpchar name "char" int2 int4 int8 float8 numeric bool oid xid tid regclass regproc json jsonb
  timestamptz interval text[] int4[] int8[] bool[] float8[] tid[] varchar[]`.split(/\s+/)

/** Types of which values are compared with those of another type. */
const MIXED = [
  'int2 int4 int8 float8 numeric oid regclass regproc xid',
  'text varchar bpchar name "char"',
  'timestamptz interval',
  'jsonb text int4 int8',
  'text text[]',
  'int8 int8[]',
  'text[] varchar[]',
].map((group) => group.split(' '))

const PAIRS = [
  ...TYPES.map((type) => [type, type]),
  ...MIXED.flatMap((group) => group.flatMap((left) => group.map((right) => [left, right]))),
]

/**
 * In the schema `public`, as any role could where PUBLIC may create in it: functions with the name of each function that we call,
 * and operators, for more exact types than the server's own. Each of them leaves a trace that no rollback removes, and fails.
 * @param types more types, of the user
 */
export async function plantHostileFunctions(client: pg.Client, types: readonly string[]): Promise<void> {
  await client.query('CREATE SEQUENCE public.witness')
  const pairs = [...PAIRS, ...types.map((type) => [type, type])]
  await client.query(PLANT)
  await client.query('SELECT pg_temp.plant_functions($1, $2)', [calledNames(), [...TYPES, ...types]])
  await client.query('SELECT pg_temp.plant_operators($1, $2, $3)', [
    OPERATORS,
    pairs.map(([left]) => left),
    pairs.map(([, right]) => right),
  ])
}

const PLANT = `
CREATE FUNCTION pg_temp.plant(name text, arguments text) RETURNS void LANGUAGE plpgsql AS $plant$
BEGIN
  EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS boolean LANGUAGE plpgsql AS %L', name, arguments, format(
    'BEGIN PERFORM pg_catalog.nextval(''public.witness''); RAISE EXCEPTION %L; END', format('hostile: %s(%s)', name, arguments)));
EXCEPTION WHEN duplicate_function THEN NULL;
END $plant$;

CREATE FUNCTION pg_temp.plant_functions(names text[], types text[]) RETURNS void LANGUAGE plpgsql AS $plant$
DECLARE called record; type text;
BEGIN
  FOR called IN SELECT proname AS name, pronargs AS n, bool_or(provariadic <> 0) AS variadic FROM pg_catalog.pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY(names) AND pronargs > 0 GROUP BY 1, 2
  LOOP
    FOREACH type IN ARRAY types || '{anyelement,anyarray}' LOOP
      PERFORM pg_temp.plant(called.name, concat_ws(', ', VARIADIC array_fill(type, ARRAY[called.n::int])));
      IF called.n = 2 THEN
        PERFORM pg_temp.plant(called.name, type || ', int4');
        PERFORM pg_temp.plant(called.name, type || ', text');
      END IF;
      IF called.variadic THEN PERFORM pg_temp.plant(called.name, type || ', ' || type); END IF;
    END LOOP;
  END LOOP;
END $plant$;

CREATE FUNCTION pg_temp.plant_operators(operators text[], lefts text[], rights text[]) RETURNS void LANGUAGE plpgsql AS $plant$
DECLARE operator text; pair record;
BEGIN
  FOR pair IN SELECT DISTINCT * FROM unnest(lefts, rights) p(l, r) LOOP
    PERFORM pg_temp.plant('hostile_operator', pair.l || ', ' || pair.r);
    FOREACH operator IN ARRAY operators LOOP
      EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.hostile_operator, LEFTARG = %s, RIGHTARG = %s)',
        operator, pair.l, pair.r);
    END LOOP;
  END LOOP;
END $plant$`

/** How many times one of them was called. */
export async function timesHostile(client: pg.Client): Promise<number> {
  const { rows } = await client.query('SELECT is_called, last_value::int AS n FROM public.witness')
  return rows[0].is_called ? rows[0].n : 0
}
