// Criteria as rows: what is asked, what it counts, its tags. The server has the document; what is typed here stays here
// until the server has seen it, so that an answer that was under way never takes a letter back.
const FIELDS = ["text", "count", "tags"];
const KEYS = { ArrowUp: "up", ArrowDown: "down", ArrowRight: "in", ArrowLeft: "out" };

export default {
  template: `
    <div class="criteria">
      <div v-if="rows.length" class="criterion-line heads" aria-hidden="true">
        <span></span><span>Criterion</span><span class="number">{{ state.head }}</span><span class="number">of all</span>
        <span>Tags</span><span></span>
      </div>
      <ol class="criterion-rows" :class="{ 'is-tree': rows.some((row) => row.heading) }" :aria-label="state.label">
        <li v-for="row in rows" :key="row.id" class="criterion-row" :style="{ '--level': row.level }"
            :class="{ 'is-heading': row.heading, 'is-wrong': row.wrong.length, 'is-open': row.detail }">
          <div class="criterion-line">
            <span class="criterion-number">
              <button v-if="row.heading" type="button" class="criterion-tool" :aria-expanded="String(row.unfolded)"
                      :aria-label="'Parts of ' + row.number" @click="act(row, 'fold')">
                <i class="q-icon material-icons" aria-hidden="true">{{ row.unfolded ? "expand_more" : "chevron_right" }}</i>
              </button>{{ row.number }}</span>
            <span class="criterion-text" :data-text="row.text + ' '">
              <textarea rows="1" :ref="(found) => keep(found, row, 'text')" :value="row.text" :placeholder="row.hint"
                        :aria-label="(row.heading ? 'Heading ' : 'Criterion ') + row.number" :maxlength="state.longest"
                        :aria-invalid="row.wrong.length ? 'true' : null" @input="type(row, 'text', $event.target.value)"
                        @change="act(row, 'named')" @keydown="press($event, row)"></textarea>
            </span>
            <input v-if="row.count !== null" class="criterion-count" inputmode="decimal" autocomplete="off" maxlength="20"
                   :ref="(found) => keep(found, row, 'count')" :value="row.count" :class="{ costs: below(row.count) }"
                   :aria-label="row.counts + ' of ' + row.number" :title="row.means" @keydown="press($event, row)"
                   @input="count(row, $event.target.value)" @change="counted(row)" />
            <span v-else class="criterion-count"></span>
            <span class="criterion-share" :title="row.share ? 'Share of the whole' : null">{{ row.share }}</span>
            <input v-if="row.tags !== null" class="criterion-tags" autocomplete="off" placeholder="tags" maxlength="1000"
                   :ref="(found) => keep(found, row, 'tags')" :value="row.tags" :aria-label="'Tags of ' + row.number"
                   @keydown="press($event, row)" @input="type(row, 'tags', $event.target.value)" />
            <span v-else class="criterion-tags"></span>
            <span class="criterion-tools">
              <button type="button" class="criterion-tool" :aria-expanded="String(row.detail)" title="Answers, examples and more"
                      :aria-label="'Answers, examples and more of ' + row.number" @click="act(row, 'detail')">
                <i class="q-icon material-icons" aria-hidden="true">{{ row.detail ? "expand_less" : "tune" }}</i>
              </button>
              <button type="button" class="criterion-tool" aria-haspopup="menu" :aria-expanded="String(menu === row.id)"
                      title="Add, move or remove" :aria-label="'Add, move or remove ' + row.number"
                      @click="show(row, $event.currentTarget)">
                <i class="q-icon material-icons" aria-hidden="true">more_vert</i>
              </button>
            </span>
          </div>
          <p v-if="row.note" class="criterion-note quiet">{{ row.note }}</p>
          <p v-if="row.wrong.length" class="criterion-note wrong" role="alert">{{ row.wrong.join("\\n") }}</p>
          <div v-for="(one, index) in row.advice" class="criterion-note advice">
            <span>{{ one.why }}</span> <q v-if="one.wording">{{ one.wording }}</q>
            <button v-if="one.action" type="button" class="advice-take" @click="act(row, 'take', index)">{{ one.action }}</button>
          </div>
          <div v-if="row.detail" class="criterion-detail"><slot name="detail"></slot></div>
        </li>
      </ol>
      <div class="row">
        <button type="button" class="add-criterion" @click="add(null)">
          <i class="q-icon material-icons" aria-hidden="true">add</i> {{ state.adds }}
        </button>
        <span class="quiet small">Enter adds the next one. Alt+Shift+arrows move it up, down, in and out.</span>
      </div>
      <q-menu v-model="shown" :target="anchor" no-parent-event auto-close @hide="menu = null" @show="first">
        <div class="criterion-menu" ref="menu" @keydown="step">
          <button v-for="[action, words] in choices()" type="button" role="menuitem" @click="choose(action)">{{ words }}</button>
        </div>
      </q-menu>
    </div>
  `,
  props: { state: Object },
  emits: ["edit", "act"],
  data() {
    return { rows: [], menu: null, shown: false, anchor: false };
  },
  created() {
    this.seq = 0;
    this.edits = new Map(); // what the server may not have seen, by row and field
    this.coming = []; // rows that it may not have seen
    this.fields = new Map();
    this.focused = 0;
    this.take(this.state);
  },
  watch: {
    state(now) {
      this.take(now);
    },
  },
  methods: {
    take(state) {
      const rows = state.rows.map((row) => ({ ...row }));
      this.coming = this.coming.filter((one) => one.seq > state.seen);
      for (const { row, after } of this.coming) {
        if (rows.some((other) => other.id === row.id)) continue;
        const at = rows.findIndex((other) => other.id === after);
        rows.splice(at < 0 ? rows.length : at + 1, 0, { ...row });
      }
      for (const row of rows)
        for (const field of FIELDS) {
          const edit = this.edits.get(row.id + field);
          if (edit === undefined) continue;
          if (edit.seq > state.seen) row[field] = edit.value;
          else this.edits.delete(row.id + field);
        }
      this.rows = rows;
      if (state.focus && state.focus.turn > this.focused) {
        this.focused = state.focus.turn;
        if (state.focus.asked || !window.rubricaCarry?.isWriting()) this.focus(state.focus.id, state.focus.field);
      }
    },
    keep(found, row, field) {
      if (found) this.fields.set(row.id + field, found);
      else this.fields.delete(row.id + field);
    },
    focus(id, field) {
      this.$nextTick(() => {
        const found = this.fields.get(id + field) ?? this.fields.get(id + "text");
        if (!found) return;
        found.scrollIntoView({ block: "nearest" });
        found.focus({ preventScroll: true });
      });
    },
    type(row, field, value) {
      row[field] = value;
      this.edits.set(row.id + field, { seq: ++this.seq, value });
      this.$emit("edit", { id: row.id, field, value, seq: this.seq });
    },
    count(row, value) {
      if (!row.settles) return this.type(row, "count", value);
      row.count = value; // others make room for it once it is all there
      this.edits.set(row.id + "count", { seq: Infinity, value });
    },
    counted(row) {
      if (this.edits.get(row.id + "count")?.seq !== Infinity) return;
      this.type(row, "count", row.count);
      this.act(row, "counted");
    },
    act(row, action, index = 0) {
      const field = FIELDS.find((one) => this.fields.get(row.id + one) === document.activeElement) ?? "text";
      this.$emit("act", { id: row.id, action, index, field, seq: ++this.seq });
    },
    add(row) {
      const id = "new" + ++this.seq;
      const level = row ? row.level : 0;
      const made = { id, level, number: "", text: "", hint: "", count: "", counts: "", share: "", tags: "", note: "", means: "" };
      const fresh = { ...made, settles: true, wrong: [], advice: [], heading: false, unfolded: false, detail: false };
      let after = row?.id ?? null; // what is below a heading stays below it
      if (row) {
        let last = this.rows.indexOf(row);
        while (this.rows[last + 1]?.level > level) last++;
        after = this.rows[last].id;
      }
      this.coming.push({ row: fresh, after, seq: this.seq });
      const at = this.rows.findIndex((other) => other.id === after);
      this.rows.splice(at < 0 ? this.rows.length : at + 1, 0, fresh);
      this.$emit("act", { id: row?.id ?? "", action: "below", made: id, seq: this.seq });
      this.focus(id, "text");
    },
    press(event, row) {
      if (event.key === "Enter" && !event.isComposing) {
        event.preventDefault();
        if (event.target.classList.contains("criterion-count")) event.target.dispatchEvent(new Event("change"));
        this.add(row);
      } else if (event.altKey && event.shiftKey && KEYS[event.key]) {
        event.preventDefault();
        this.act(row, KEYS[event.key]);
      }
    },
    choices() {
      const row = this.rows.find((one) => one.id === this.menu);
      if (!row) return [];
      const at = this.rows.indexOf(row);
      const isFirst = at === 0 || this.rows[at - 1].level < row.level;
      return [
        ["below", "Add one below"],
        ["inside", row.heading ? "Add a part" : "Divide it into parts"],
        ["up", "Move up"],
        ["down", "Move down"],
        ...(isFirst ? [] : [["in", "Make it a part of the one above"]]),
        ...(row.level ? [["out", "Move it out, one level up"]] : []),
        ["remove", row.heading ? "Remove it and its parts" : "Remove"],
      ];
    },
    show(row, button) {
      this.anchor = button;
      this.menu = row.id;
      this.$nextTick(() => (this.shown = true));
    },
    first() {
      this.$refs.menu?.querySelector("button")?.focus();
    },
    step(event) {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const every = [...this.$refs.menu.querySelectorAll("button")];
      every.at((every.indexOf(document.activeElement) + by) % every.length).focus();
    },
    choose(action) {
      const row = this.rows.find((one) => one.id === this.menu);
      if (!row) return;
      if (action === "below") setTimeout(() => this.add(row));
      else this.act(row, action);
    },
    below(count) {
      return /^\s*[-−–]/.test(count);
    },
  },
};
