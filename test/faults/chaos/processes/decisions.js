// How a destination logs what it decides: a row in the transaction that decides. A refusal rolls its transaction back, and a
// guard's own replay is over when it is heard of; both are logged right after, which is as true then: a mark never falls, and
// an answer never changes.

/** @typedef {import("../record.ts").DestinationEntry} DestinationEntry */
/** @typedef {{ query(text: string, params?: readonly unknown[]): Promise<unknown> }} Tx */
/** @typedef {Omit<DestinationEntry, "seq" | "destination">} Decision */

export const TABLES = {
  sqlite: `
create table if not exists chaos_decision (
  seq integer primary key autoincrement, destination text not null, at_ms real, decision text not null, line text not null,
  job text not null, key text not null, generation integer not null, owner text not null, answer text not null
) strict;
create table if not exists chaos_state (
  job text primary key, list text not null default '', cell integer not null default 0, counter integer not null default 0
) strict;`,
  postgres: `
create table if not exists chaos_decision (
  seq bigint generated always as identity, destination text not null, at_ms double precision, decision text not null,
  line text not null, job text not null, key text not null, generation bigint not null, owner text not null, answer text not null
);
create table if not exists chaos_state (
  job text primary key, list text not null default '', cell integer not null default 0, counter integer not null default 0
);`,
};

export const SELECT_DECISIONS = `select seq, destination, at_ms as "atMs", decision, line, job, key, generation, owner, answer
  from chaos_decision order by seq`;

export const INSERT_DECISION = `insert into chaos_decision
  (destination, at_ms, decision, line, job, key, generation, owner, answer) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/**
 * @param {string} destination
 * @param {Decision} decision
 */
export function decisionRow(destination, { atMs, decision, line, job, key, generation, owner, answer }) {
  return [destination, atMs, decision, line, job, key, generation, owner, answer];
}

/** An effect on the state of one job: what stands in it afterwards. @type {Record<string, string>} */
export const EFFECTS = {
  append: `insert into chaos_state (job, list) values ($1, $2)
    on conflict (job) do update set list = chaos_state.list || ',' || excluded.list returning list as value`,
  compareAndSet: `insert into chaos_state (job, cell) values ($1, length($2))
    on conflict (job) do update set cell = chaos_state.cell + 1 where chaos_state.cell >= 0 returning cell as value`,
  count: `insert into chaos_state (job, counter) values ($1, sign(length($2)))
    on conflict (job) do update set counter = chaos_state.counter + 1 returning counter as value`,
};
